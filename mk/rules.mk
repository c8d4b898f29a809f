# The few rules by which everything is built. A module.mk says what it has and in which layer:
#
#   $(call compiles,registry/src,registry)           objects of a folder, and their layer
#   $(call archive,kr_registry,registry/src)         a static library of a folder's objects
#
# Sources are found by wildcard: adding a file edits nothing.
objects_of = $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard $(addsuffix /*.c,$(1)))))

# $(1) folder, $(2) layer, $(3) further flags
define compiles_
$(B)/obj/$(1)/%.o $(B)/obj/$(1)/%.tidy $(B)/obj/$(1)/%.alone: LAYER_FLAGS := $(INCLUDES_$(2)) $(3)
LINTED += $(1)
endef
compiles = $(eval $(call compiles_,$(1),$(2),$(3)))

# $(1) name, $(2) folders
define archive_
$(B)/lib$(1).a: $(call objects_of,$(2))
endef
archive = $(eval $(call archive_,$(1),$(2)))

$(B)/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	@echo "  AR    $@"
	@$(AR) rcsD $@ $(filter %.o,$^)

$(B)/obj/%.o: %.c mk/config.mk mk/layers.mk | $(LAYERS_STAMP)
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(CFLAGS_ALL) $(LAYER_FLAGS) -MMD -MP -c $< -o $@

# clang-tidy, file by file, with the flags that the file is compiled with.
$(B)/obj/%.tidy: %.c $(B)/obj/%.o .clang-tidy
	@mkdir -p $(@D)
	@echo "  TIDY  $<"
	@clang-tidy --quiet $< -- -std=c11 -D_GNU_SOURCE $(LAYER_FLAGS) -Wno-unknown-warning-option \
	  2>$@.log || { cat $@.log; false; }
	@touch $@

# A header is compiled by itself: whoever includes it need not know what it needs.
$(B)/obj/%.alone: %.h mk/config.mk mk/layers.mk | $(LAYERS_STAMP)
	@mkdir -p $(@D)
	@echo "  ALONE $<"
	@$(CC) $(CFLAGS_ALL) $(LAYER_FLAGS) -fsyntax-only -x c $< -Wno-unused-function
	@touch $@
