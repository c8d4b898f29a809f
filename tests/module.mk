# Tests. Unit tests mirror the sources: registry/src/key.c <-> tests/unit/registry/test_key.c, and
# each is a program of its own.
UNIT_SOURCES := $(sort $(shell find tests/unit -name 'test_*.c'))
UNIT_TESTS := $(UNIT_SOURCES:%.c=$(B)/%)
UNIT_HELPERS := $(sort $(filter-out $(UNIT_SOURCES),$(shell find tests/unit -name '*.c')))

SERVER_ARCHIVES := $(foreach a,daemon worker proto sandbox wire base registry,$(B)/libkr_$(a).a)

# A test says -Wno-… where it does on purpose what the code may not do.
TEST_FLAGS := -Wno-missing-prototypes -Wno-cast-qual
$(B)/obj/tests/unit/registry/%.o: LAYER_FLAGS := $(INCLUDES_registry) -Itests/unit/registry $(TEST_FLAGS)
$(B)/obj/tests/unit/kernels/%.o: LAYER_FLAGS := $(INCLUDES_support) -Itests/unit/kernels $(TEST_FLAGS)
$(B)/obj/tests/unit/server/%.o: LAYER_FLAGS := $(INCLUDES_test) -Itests/unit/server $(TEST_FLAGS)
$(patsubst %.c,$(B)/obj/%.o,$(UNIT_SOURCES) $(UNIT_HELPERS)): | $(PROTO_C) $(PACKAGES_TEST)

$(B)/tests/unit/registry/%: $(B)/obj/tests/unit/registry/%.o $(B)/libkr_registry.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcmocka -lm

KERNEL_TEST_HOST := $(patsubst %.c,$(B)/obj/%.o,$(filter tests/unit/kernels/%,$(UNIT_HELPERS)))
$(B)/tests/unit/kernels/%: $(B)/obj/tests/unit/kernels/%.o $(KERNEL_TEST_HOST) \
                           $(call objects_of,kernels/portable) $(B)/libkr_support.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcmocka -lm

# Those that include no_memory.h.
WITHOUT_MEMORY := buffers/test_buffers session/test_session worker/test_mappings
$(WITHOUT_MEMORY:%=$(B)/tests/unit/server/%): WRAPPED := -Wl,--wrap=malloc,--wrap=calloc
SERVER_TEST_HELPERS := $(patsubst %.c,$(B)/obj/%.o,$(filter tests/unit/server/%,$(UNIT_HELPERS)))
$(B)/tests/unit/server/%: $(B)/obj/tests/unit/server/%.o $(SERVER_TEST_HELPERS) $(SERVER_ARCHIVES)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(LDFLAGS_ALL) -o $@ $^ $(DAEMON_LIBS) -lcmocka -ldl $(WRAPPED)

# ---- Kernels for the tests: those that misbehave, and those that use every part of the ABI -------------------------------------------
# They are built as a user would build them, without sanitizers: what they do must reach the worker.
TEST_KERNELS := $(patsubst tests/%.c,$(B)/%.so,$(sort $(wildcard tests/hostile/*.c tests/kernels/*.c)))
$(B)/hostile/%.so: tests/hostile/%.c kernels/include/kernrig/kernel.h | $(PACKAGES_BUILD)
	@mkdir -p $(@D)
	@echo "  EVIL  $@"
	@$(CC) -std=c11 -D_GNU_SOURCE -O1 -g -w -shared -fPIC -fvisibility=hidden -Wl,-Bsymbolic \
	  -Ikernels/include -o $@ $< -lm -lpthread
$(B)/kernels/%.so: tests/kernels/%.c kernels/include/kernrig/kernel.h | $(PACKAGES_BUILD)
	@mkdir -p $(@D)
	@echo "  KERN  $@"
	@$(CC) -std=c11 -O1 -g -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden \
	  -Wl,-Bsymbolic -Ikernels/include -o $@ $< -lm

# ---- Fuzz targets: a corpus replayed by every test run, libFuzzer on demand -----------------------
FUZZ_TARGETS := $(sort $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_REPLAYS := $(FUZZ_TARGETS:%=$(B)/tests/fuzz/fuzz_%)
$(B)/obj/tests/fuzz/%.o: LAYER_FLAGS := $(INCLUDES_test) $(TEST_FLAGS)
$(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/fuzz/*.c)): | $(PROTO_C) $(PACKAGES_TEST)
$(B)/tests/fuzz/fuzz_%: $(B)/obj/tests/fuzz/fuzz_%.o $(B)/obj/tests/fuzz/replay.o $(SERVER_ARCHIVES)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(LDFLAGS_ALL) -o $@ $^ $(DAEMON_LIBS) -ldl

# make fuzz T=schema SECONDS=600: the same target under libFuzzer, in a build of its own.
T ?= schema
SECONDS ?= 60
.PHONY: fuzz
fuzz: ## run one fuzz target: T=schema SECONDS=600
	@$(MAKE) --no-print-directory CC=clang SANITIZE=address,undefined,fuzzer-no-link \
	  build/address-undefined-fuzzer-no-link/fuzz/$(T)
	@mkdir -p build/fuzz/$(T)
	build/address-undefined-fuzzer-no-link/fuzz/$(T) -max_total_time=$(SECONDS) -timeout=10 \
	  -rss_limit_mb=4096 build/fuzz/$(T) tests/fuzz/corpus/$(T)
$(B)/fuzz/%: $(B)/obj/tests/fuzz/fuzz_%.o $(SERVER_ARCHIVES)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(LDFLAGS_ALL) -fsanitize=fuzzer -o $@ $^ $(DAEMON_LIBS) -ldl

# ---- What the comparison with PyTorch needs --------------------------------------------------------------
PRINT_SCHEMA := $(B)/tests/against_torch/print_schema
$(B)/obj/tests/against_torch/%.o: LAYER_FLAGS := $(INCLUDES_registry)
$(PRINT_SCHEMA): $(B)/obj/tests/against_torch/print_schema.o $(B)/libkr_registry.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(LDFLAGS_ALL) -o $@ $^ -lm

# ---- Running them: each of these takes SANITIZE=address,undefined or SANITIZE=thread ---------------------
# K=EXPRESSION chooses among Python's tests, as pytest's -k does.
PYTEST = -m pytest -q -rs $(if $(K),-k "$(K)")
# Neighbours share a daemon, and each process has daemons of its own.
PARALLEL = -n $(JOBS) --dist worksteal
E2E = tests/e2e
E2E_ENVIRONMENT = KERNRIG_DAEMON=$(CURDIR)/$(DAEMON) \
                  TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan.supp exitcode=66"
FUZZ_RUNS = $(foreach t,$(FUZZ_TARGETS),"$(B)/tests/fuzz/fuzz_$(t) tests/fuzz/corpus/$(t)")

.PHONY: unit fuzz-replay test-kernels e2e torch-tests check test full
test-kernels: $(TEST_KERNELS)
unit: $(UNIT_TESTS) ## unit tests in C
	@tools/run_tests.py $(UNIT_TESTS)
fuzz-replay: $(FUZZ_REPLAYS) ## every fuzz target over its committed corpus
	@tools/run_tests.py $(FUZZ_RUNS)
e2e: all client test-kernels $(VENV)/.ready-test ## tests of the daemon through the Python client; K=EXPRESSION
	@$(E2E_ENVIRONMENT) $(PYTHON) $(PYTEST) $(PARALLEL) $(E2E)
torch-tests: all client $(PRINT_SCHEMA) $(VENV_TORCH)/.ready ## comparison with PyTorch; K=EXPRESSION
	@OMP_NUM_THREADS=1 $(E2E_ENVIRONMENT) $(VENV_TORCH)/bin/python $(PYTEST) $(PARALLEL) $(if $(FULL),--full) \
	  tests/against_torch
	@cd $(CLIENT) && $(CURDIR)/$(VENV_TORCH)/bin/python $(PYTEST) tests/test_torch.py

# The client's own tests run no C: once is enough.
check: all client test-kernels $(UNIT_TESTS) $(FUZZ_REPLAYS) $(VENV)/.ready-test ## unit, fuzz-replay, client-tests and e2e
	@tools/run_tests.py $(UNIT_TESTS) $(FUZZ_RUNS)
	@$(if $(SANITIZE),true,$(MAKE) --no-print-directory client-tests)
	@$(MAKE) --no-print-directory e2e

# One after the other, since tests that wait for a deadline want the machine for themselves. PyTorch
# is installed meanwhile. Threads are the daemon's, so TSan runs what has many sides at work.
RACY := $(addprefix tests/e2e/test_,first_call.py sessions.py faults.py lanes.py limits.py peers.py)
test: $(PACKAGES_TEST) $(VENV)/.ready-test ## everything that CI runs
	@$(MAKE) --no-print-directory $(VENV_TORCH)/.ready lint
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory product-tests
	@$(MAKE) --no-print-directory SANITIZE=address,undefined check
	@$(MAKE) --no-print-directory SANITIZE=thread E2E="$(RACY)" e2e
	@$(MAKE) --no-print-directory torch-tests

full: test ## what takes longer: every OpInfo in full, TSan and valgrind, ten minutes of each fuzz target
	@$(MAKE) --no-print-directory SANITIZE=thread e2e
	@$(MAKE) --no-print-directory FULL=1 torch-tests
	@$(MAKE) --no-print-directory valgrind
	@for t in $(FUZZ_TARGETS); do $(MAKE) --no-print-directory fuzz T=$$t SECONDS=600 || exit 1; done

# Valgrind sees what sanitizers do not: reads of memory that was never written.
.PHONY: valgrind
valgrind: $(UNIT_TESTS) ## unit tests under valgrind
	@tools/run_tests.py $(UNIT_TESTS:%="valgrind --quiet --suppressions=tests/valgrind.supp --error-exitcode=9 --leak-check=full --child-silent-after-fork=yes %")
