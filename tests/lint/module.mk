# make lint: format, shape, clang-tidy, headers alone, symbols, Python. Only what has changed is
# looked at again.
LINTED += kernels/include/kernrig registry/include/kernrig
$(B)/obj/kernels/include/kernrig/%.alone: LAYER_FLAGS := $(INCLUDES_abi)
$(B)/obj/registry/include/kernrig/%.alone: LAYER_FLAGS := $(INCLUDES_registry)

FORMATTED = $(shell git ls-files '*.c' '*.h' 2>/dev/null)
TIDIED = $(patsubst %.c,$(B)/obj/%.tidy,$(sort $(wildcard $(addsuffix /*.c,$(LINTED))) \
                                         $(MAIN_FILES:%=%.c)))
ALONE = $(patsubst %.h,$(B)/obj/%.alone,$(sort $(wildcard $(addsuffix /*.h,$(LINTED)))))

.PHONY: lint lint-c lint-format lint-source lint-symbols format
lint: lint-format lint-source lint-c lint-symbols lint-python ## format, shape, clang-tidy, headers, symbols, Python
lint-format:
	@clang-format --dry-run -Werror $(FORMATTED)
lint-source:
	@tests/lint/check_source.py
lint-c: $(ALONE) $(TIDIED)
lint-symbols: all
	@tests/lint/check_symbols.sh $(B)
format: ## clang-format everything, ruff the Python
	@clang-format -i $(FORMATTED)
