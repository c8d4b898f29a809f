# Who may see whom. A layer is compiled with these include paths and no others, so a wrong include
# does not compile; tests/lint/check_layers.py adds the system headers, which no path can hide.
#
#   kernels/include <- registry <- base <- wire, sandbox <- worker
#                                  base, wire <- loop <- session, buffers, workers, listener
#                                                <- service <- rpc, local <- main
#
# A server folder is seen by its name, "wire/frame.h", through a directory of links made for the
# layer: build/layers/<layer>/wire -> server/wire.
FOLDER_base     := server/base
FOLDER_wire     := server/wire
FOLDER_sandbox  := server/sandbox
FOLDER_worker   := server/worker
FOLDER_loop     := server/daemon/loop
FOLDER_session  := server/daemon/session
FOLDER_buffers  := server/daemon/buffers
FOLDER_workers  := server/daemon/workers
FOLDER_listener := server/daemon/listener
FOLDER_service  := server/daemon/service
FOLDER_local    := server/daemon/local
FOLDER_rpc      := server/daemon/rpc
FOLDER_main     := server/daemon

SEES_base     := base
SEES_wire     := base wire
SEES_sandbox  := base sandbox
SEES_worker   := base wire sandbox worker
SEES_loop     := base loop
SEES_session  := base loop session
SEES_buffers  := base loop buffers
SEES_workers  := base loop wire workers
SEES_listener := base loop listener
SEES_service  := base wire loop session buffers workers service
SEES_local    := base loop session buffers wire listener service local
SEES_rpc      := base loop session buffers listener service rpc
SEES_main     := base sandbox loop session buffers workers listener service local rpc
# Tests see what they test, from below; the test layer sees all.
SEES_test     := base wire sandbox worker loop session buffers workers listener service local rpc

SERVER_LAYERS := base wire sandbox worker loop session buffers workers listener service local rpc \
                 main test

INCLUDES_abi      := -Ikernels/include
INCLUDES_support  := -Ikernels/include -Ikernels/support
INCLUDES_registry := -Ikernels/include -Iregistry/include -DKR_NO_LIBRARY_TABLE \
                     -include kernrig/banned.h
$(foreach l,$(SERVER_LAYERS),$(eval INCLUDES_$(l) := $(INCLUDES_registry) -Ibuild/layers/$(l)))
# Generated messages and their library have one home.
INCLUDES_rpc  += -I$(G)/c
INCLUDES_main += -I$(G)/c
INCLUDES_test += -I$(G)/c

LAYERS_STAMP := build/layers/.made
$(LAYERS_STAMP): mk/layers.mk
	@rm -rf build/layers && mkdir -p $(foreach l,$(SERVER_LAYERS),build/layers/$(l))
	@$(foreach l,$(SERVER_LAYERS),$(foreach f,$(SEES_$(l)),\
	  ln -s ../../../$(FOLDER_$(f)) build/layers/$(l)/$(f) &&)) true
	@touch $@
