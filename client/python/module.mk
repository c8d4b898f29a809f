# The Python client. What is generated stands beside its sources and is not committed; an installation
# (hatch_build.py) makes it as well, so that `pip install` needs no make.
CLIENT := client/python
CLIENT_PACKAGE := $(CLIENT)/src/kernrig
CLIENT_GENERATED := $(CLIENT_PACKAGE)/_status.py $(CLIENT_PACKAGE)/_origin.py \
                    $(CLIENT_PACKAGE)/_proto/.made
ERROR_TABLES := registry/include/kernrig/status.def kernels/include/kernrig/kernel.h

$(CLIENT_PACKAGE)/_status.py: $(ERROR_TABLES) tools/make_status.py | $(PACKAGES_BUILD)
	@echo "  GEN   $@"
	@/usr/bin/python3 tools/make_status.py --python --output $@
	@touch $@
$(CLIENT_PACKAGE)/_origin.py: VERSION $(CLIENT)/generate.py | $(PACKAGES_BUILD)
	@echo "  GEN   $@"
	@/usr/bin/python3 $(CLIENT)/generate.py origin
	@touch $@
# grpcio-tools brings its own protoc, of a known version; Debian's would make code without a promise.
$(CLIENT_PACKAGE)/_proto/.made: $(PROTOS:%=proto/%) $(CLIENT)/generate.py | $(VENV)/.ready
	@echo "  GEN   $(@D)"
	@$(PYTHON) $(CLIENT)/generate.py proto
	@touch $@

docs/errors.md: $(ERROR_TABLES) tools/make_status.py | $(PACKAGES_BUILD)
	@echo "  GEN   $@"
	@/usr/bin/python3 tools/make_status.py --docs --output $@
	@touch $@

.PHONY: client client-tests client-lint
client: $(CLIENT_GENERATED) docs/errors.md ## what is generated for the Python client, and docs/errors.md
client-tests: client $(VENV)/.ready-test ## tests of the client that need no daemon
	@cd $(CLIENT) && $(CURDIR)/$(PYTHON) -m pytest -q
client-lint: client $(VENV)/.ready-test ## mypy --strict and ruff
	@cd $(CLIENT) && $(CURDIR)/$(PYTHON) -m ruff check . && $(CURDIR)/$(PYTHON) -m ruff format --check . \
	  && $(CURDIR)/$(PYTHON) -m mypy
	@/usr/bin/python3 tools/make_status.py --docs --check docs/errors.md
