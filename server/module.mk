# The two binaries. They share base, wire and registry; the worker is linked without libuv, gRPC
# and protobuf, so that what lives beside a kernel stays small.
$(call compiles,server/base,base,-DKERNRIG_VERSION='"$(VERSION)"')
$(call compiles,server/wire,wire)
$(call compiles,server/sandbox,sandbox)
$(call compiles,server/worker,worker)
$(foreach l,loop session buffers workers listener service local,$(call compiles,$(FOLDER_$(l)),$(l)))
# protobuf-c's initialisers cast const away.
$(call compiles,$(FOLDER_rpc),rpc,-Wno-cast-qual)
# main.c alone: the pattern of server/daemon/ would match the folders below it as well.
MAIN_FILES := server/daemon/main server/daemon/options
$(foreach x,o tidy alone,$(MAIN_FILES:%=$(B)/obj/%.$(x))): LAYER_FLAGS := $(INCLUDES_main) -Iserver/daemon

# The build id is a hash of every source that ends up in a binary.
BUILD_SOURCES := $(sort $(shell find server registry kernels/include proto -name '*.[ch]' -o \
                                     -name '*.def' -o -name '*.proto' -o -name '*.txt') VERSION)
$(G)/build_id.h: $(BUILD_SOURCES)
	@mkdir -p $(@D)
	@printf '#define KERNRIG_BUILD_ID "%s"\n' "$$(cat $(BUILD_SOURCES) | sha256sum | cut -c1-16)" > $@
$(B)/obj/server/base/build.o: $(G)/build_id.h
$(B)/obj/server/base/build.o $(B)/obj/server/base/build.tidy: LAYER_FLAGS := $(INCLUDES_base) -include $(G)/build_id.h \
                                             -DKERNRIG_VERSION='"$(VERSION)"'

$(call archive,kr_base,server/base)
$(call archive,kr_wire,server/wire)
$(call archive,kr_sandbox,server/sandbox)
$(call archive,kr_worker,server/worker)
$(call archive,kr_daemon,$(foreach l,loop session buffers workers listener service local rpc,$(FOLDER_$(l))))

WORKER := $(B)/kernrig-worker
$(WORKER): $(B)/libkr_worker.a $(B)/libkr_sandbox.a $(B)/libkr_wire.a $(B)/libkr_base.a $(B)/libkr_registry.a
	@echo "  LINK  $@"
	@$(CC) $(LDFLAGS_ALL) -pie -o $@ $^ -ldl

DAEMON := $(B)/kernrigd
DAEMON_LIBS := -luv -lprotobuf-c -lgrpc -lgpr -lpthread
$(DAEMON): $(B)/obj/server/daemon/main.o $(B)/obj/server/daemon/options.o $(B)/libkr_daemon.a \
           $(B)/libkr_proto.a $(B)/libkr_sandbox.a $(B)/libkr_wire.a $(B)/libkr_base.a $(B)/libkr_registry.a
	@echo "  LINK  $@"
	@$(CC) $(LDFLAGS_ALL) -pie -o $@ $(filter %.o,$^) -Wl,--whole-archive $(B)/libkr_daemon.a \
	  -Wl,--no-whole-archive $(filter-out $(B)/libkr_daemon.a,$(filter %.a,$^)) $(DAEMON_LIBS)

ALL += $(DAEMON) $(WORKER)
