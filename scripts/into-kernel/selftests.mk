# SPDX-License-Identifier: GPL-2.0
# Programs of the tests in the directories beside this one

include sources.mk

PKG_CONFIG ?= pkg-config
# Programs whose sources are here and whose libraries are installed
HAVE := $(foreach p,$(PROGS),$(if \
	$(filter-out $(wildcard $(addprefix ../,$(SRC_$(p)))),$(addprefix ../,$(SRC_$(p)))),,$(p)))
ifneq ($(shell $(PKG_CONFIG) --exists librdmacm libibverbs && echo yes),yes)
$(warning librdmacm is not installed: its tests have no program)
HAVE := $(foreach p,$(HAVE),$(if $(findstring -lrdmacm,$(LIBS_$(p))),,$(p)))
endif

TEST_GEN_FILES := $(HAVE) sdp-early.so sdp-any.so
CFLAGS += -std=gnu11 -O2 -g -Wall -Wextra $(KHDR_INCLUDES)

include ../../../lib.mk

define program
$(OUTPUT)/$(1): $(addprefix ../,$(SRC_$(1)))
	$$(CC) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(LIBS_$(1)) $$(LIBS)
endef
$(foreach p,$(HAVE),$(eval $(call program,$(p))))

$(OUTPUT)/sdp-early.so: ../sdp/early.c
$(OUTPUT)/sdp-any.so: ../programs/any.c
$(OUTPUT)/%.so:
	$(CC) $(CFLAGS) -fPIC -shared $(LDFLAGS) -o $@ $<
