# Kernel libraries: code that only ever runs inside a worker. One shared object per provider.
#
# Kernels need -O3 and may assume that integers wrap. They are built without stack protector and
# fortification: they are code under test, measured against each other, in a process of their own.
KERNEL_FLAGS := -O3 -fwrapv -fno-math-errno -fno-trapping-math -fno-stack-protector -U_FORTIFY_SOURCE

$(call compiles,kernels/support,support,$(KERNEL_FLAGS))
$(call compiles,kernels/portable,support,$(KERNEL_FLAGS))
$(call archive,kr_support,kernels/support)

PORTABLE := $(B)/lib/kernrig/libkernrig_portable.so
$(PORTABLE): $(call objects_of,kernels/portable) $(B)/libkr_support.a kernels/library.map
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) -shared $(LDFLAGS_ALL) -Wl,-Bsymbolic -Wl,--gc-sections \
	  -Wl,--version-script=kernels/library.map $(if $(SANITIZE),,-Wl,-z$(comma)defs) \
	  -o $@ $(filter %.o %.a,$^) -lm

ALL += $(PORTABLE)
