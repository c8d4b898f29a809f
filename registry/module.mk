# The registry: a pure library, no I/O, no threads, no libuv, no gRPC.
$(call compiles,registry/src,registry)

# The known operators are data: operators.txt, drift-checked against PyTorch by the tests, becomes
# a string constant, so that nothing has to be found at run time.
$(G)/operators.c: registry/operators.txt tools/embed_text.py | $(PACKAGES_BUILD)
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	@/usr/bin/python3 tools/embed_text.py $< kr_operators_text > $@
$(B)/obj/$(G)/operators.o: LAYER_FLAGS := $(INCLUDES_registry)

$(call archive,kr_registry,registry/src)
$(B)/libkr_registry.a: $(B)/obj/$(G)/operators.o
