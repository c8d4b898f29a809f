# Messages and services. Nothing generated is committed: C by protoc-c for the daemon's rpc folder,
# a descriptor set for reflection, Python by grpcio-tools for the client (client/python/module.mk).
PROTOS := $(sort $(patsubst proto/%,%,$(shell find proto -name '*.proto')))
PROTO_C := $(PROTOS:%.proto=$(G)/c/%.pb-c.c) $(G)/c/google/protobuf/descriptor.pb-c.c
PROTO_INCLUDE := /usr/include

$(PROTO_C) $(G)/descriptors.bin: | $(PACKAGES_BUILD)
$(G)/c/%.pb-c.c: proto/%.proto
	@mkdir -p $(G)/c
	@echo "  GEN   $@"
	@protoc-c -Iproto -I$(PROTO_INCLUDE) --c_out=$(G)/c proto/$*.proto

# Reflection takes descriptors apart, so it needs the messages that describe messages.
$(G)/c/google/protobuf/descriptor.pb-c.c: mk/config.mk
	@mkdir -p $(G)/c
	@echo "  GEN   $@"
	@protoc-c -I$(PROTO_INCLUDE) --c_out=$(G)/c google/protobuf/descriptor.proto

$(G)/descriptors.bin: $(PROTOS:%=proto/%)
	@mkdir -p $(@D)
	@protoc -Iproto -I$(PROTO_INCLUDE) --include_imports --descriptor_set_out=$@ $(PROTOS)
$(G)/descriptors.c: $(G)/descriptors.bin tools/embed_text.py
	@echo "  GEN   $@"
	@/usr/bin/python3 tools/embed_text.py $< rpc_descriptors > $@

PROTO_OBJECTS := $(PROTO_C:%.c=$(B)/obj/%.o) $(B)/obj/$(G)/descriptors.o
# protoc-c's output is not ours to keep free of warnings.
$(B)/obj/$(G)/c/%.o: LAYER_FLAGS := -I$(G)/c -w
$(B)/obj/$(G)/descriptors.o: LAYER_FLAGS :=
$(B)/libkr_proto.a: $(PROTO_OBJECTS)
# What includes generated headers waits for them.
$(call objects_of,server/daemon/rpc server/daemon): | $(PROTO_C)
