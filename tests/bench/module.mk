# Benchmarks: figures, each a ratio within one run or beside what it may be at most.
BENCH_LOOKUP := $(B)/tests/bench/bench_lookup
$(B)/obj/tests/bench/%.o: LAYER_FLAGS := $(INCLUDES_registry) $(TEST_FLAGS)
$(BENCH_LOOKUP): $(B)/obj/tests/bench/bench_lookup.o $(B)/libkr_registry.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(LDFLAGS_ALL) -o $@ $^ -lm

.PHONY: bench
bench: all client $(BENCH_LOOKUP) $(VENV)/.ready-test $(VENV_TORCH)/.ready ## figures: calls, start, memory, look-up, kernels
	@$(BENCH_LOOKUP)
	@$(BENCH_ENVIRONMENT) $(PYTHON) tests/bench/bench_call.py
	@$(BENCH_ENVIRONMENT) $(PYTHON) tests/bench/bench_call.py --pin
	@$(BENCH_ENVIRONMENT) $(PYTHON) tests/bench/bench_large.py
	@$(BENCH_ENVIRONMENT) $(PYTHON) tests/bench/bench_start.py
	@$(BENCH_ENVIRONMENT) $(VENV_TORCH)/bin/python tests/bench/bench_kernels.py
BENCH_ENVIRONMENT = PYTHONPATH=tests KERNRIG_DAEMON=$(CURDIR)/$(DAEMON)
