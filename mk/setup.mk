# Setting up: Debian packages and virtual environments, each once. A stamp says what has been done,
# and what it was done for; a changed list does it again.
VENV := .venv
VENV_TORCH := .venv-torch
PYTHON := $(VENV)/bin/python

# Runs a demo and a client; and what the tests add.
DEMO_REQUIREMENTS := grpcio-tools==1.75.1
TEST_REQUIREMENTS := pytest==9.2.0 pytest-timeout==2.4.0 pytest-xdist==3.8.0 mypy==2.4.1 \
                     ruff==0.17.6 \
                     types-protobuf==7.35.1.20260906 grpc-stubs==1.53.0.6 \
                     grpcio-reflection==1.75.1 grpcio-health-checking==1.75.1
TORCH_REQUIREMENTS := torch==2.15.0 numpy==2.4.6 expecttest==0.3.0 pytest==9.2.0 \
                      pytest-timeout==2.4.0 pytest-xdist==3.8.0

PACKAGES_BUILD := build/.packages-build
PACKAGES_TEST := build/.packages-test
$(PACKAGES_BUILD): mk/config.mk
	@tools/setup.sh packages $(BUILD_PACKAGES)
	@mkdir -p $(@D) && touch $@
$(PACKAGES_TEST): mk/config.mk $(PACKAGES_BUILD)
	@tools/setup.sh packages $(TEST_PACKAGES)
	@mkdir -p $(@D) && touch $@

# The client is installed in place: its Python is the checkout's, its daemon the checkout's build.
$(VENV)/.ready: client/python/pyproject.toml mk/setup.mk | $(PACKAGES_BUILD)
	@tools/setup.sh venv $(VENV) $(DEMO_REQUIREMENTS) --editable client/python
	@touch $@
$(VENV)/.ready-test: $(VENV)/.ready
	@echo "  PIP   $(VENV), for the tests"
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir $(TEST_REQUIREMENTS)
	@touch $@
$(VENV_TORCH)/.ready: client/python/pyproject.toml mk/setup.mk | $(PACKAGES_BUILD)
	@echo "The tests compare with PyTorch, in an environment of its own: about 3 GB are downloaded, 5.5 GB stay in $(VENV_TORCH)."
	@tools/setup.sh venv $(VENV_TORCH) $(TORCH_REQUIREMENTS) --editable client/python
	@touch $@

# Everything that is compiled waits for the compiler.
$(LAYERS_STAMP): | $(PACKAGES_BUILD)
