# SPDX-License-Identifier: GPL-2.0
#
# SDP sockets over iWARP for Linux; "make help" lists the targets.  The modules
# are described to the kernel's build system by Kbuild.

KERNEL	?= 6.1
BUILD	?= $(CURDIR)/build
PREFIX	?= /usr/local
KDIR	?= $(wildcard /lib/modules/$(shell uname -r)/build)

# Absolute, because makes and scripts in other directories get them
override BUILD := $(abspath $(BUILD))
override DESTDIR := $(if $(DESTDIR),$(abspath $(DESTDIR)))

export KERNEL BUILD KDIR DESTDIR SDP_RESEARCH
O	:= $(BUILD)
PAGES	:= $(wildcard Documentation/man/*.[1-9])

all: modules tools

help:
	@echo 'make [all]         modules and tools'
	@echo 'make modules       modules for the running kernel (KDIR=headers of another;'
	@echo '                   SDP_RESEARCH=n leaves out the variants of the literature)'
	@echo 'make tools         sdp-run, libsdp.so, sdpstat, sdpctl, sdpbench'
	@echo 'make examples      filter streams: fs-run, fs-node (liblz4-dev)'
	@echo 'make install       modules, tools, headers, manual pages (PREFIX=, DESTDIR=)'
	@echo 'make install-tools, make install-doc: tools, manual pages alone'
	@echo 'make install-dkms  modules by DKMS; make uninstall-dkms'
	@echo 'make deb           Debian packages, in build/deb; make rpm: RPM packages, in build/rpm'
	@echo 'make uninstall     remove what make install has installed'
	@echo 'make demo          iperf3, Redis, nginx and PostgreSQL over SDP in a virtual machine'
	@echo 'make demo-filters  pictures that travel over SDP between filters on four hosts'
	@echo 'make check         tests, except the long ones (KERNEL=6.1, rt, 6.12, 7, debug, kcsan; TESTS="sdp/fc interop")'
	@echo 'make check-long    with the tests that take long; make check-more: only those'
	@echo 'make unit          unit tests in user space'
	@echo 'make fuzz          libFuzzer on all parsers (SECONDS=600 each); the corpus is kept'
	@echo 'make mutate        small faults in FILE=lib/iwarp/mpa.c (N=50): do the tests notice?'
	@echo '                   (TESTS="sdp/fc" in the VM, for a file of a driver)'
	@echo 'make cover         lines of the drivers that the tests run (TESTS=, KERNEL=6.1)'
	@echo 'make soak          connections that come and go for HOURS=24 of the guest (SEED=1)'
	@echo 'make bench         instruction counts in a virtual machine (LANE=native: User-Mode Linux)'
	@echo 'make profile       instructions by function and layer (LANE=native: time, and a flame graph;'
	@echo '                   WHAT=sdp-enhanced/hybrid, LINK=hnic, MTU=1500, SIZE=65536, TEST=lat, BASE=)'
	@echo 'make report        figures of the papers, measured, drawn and judged (FIGURES="P0-F2a P3")'
	@echo 'make lint          checkpatch, kernel-doc, sparse, W=1, shellcheck, clang-format'
	@echo 'make htmldocs      the documents and the kernel-doc comments as HTML'
	@echo 'make into-kernel   the drivers as a part of the newest kernel: W=1, C=1, htmldocs'
	@echo '                   (ARCH=arm64 compiles them for that, with gcc-aarch64-linux-gnu;'
	@echo '                   ARCH=i386 for 32 bits and no IPv6)'
	@echo 'make vm            a shell in a virtual machine with SDP between two namespaces'
	@echo 'make deps          install what is needed for the above (apt)'
	@echo 'make clean         remove build/'
	@echo 'make clean-cache   remove cached kernels and their like, and the inputs that make fuzz found'
	@echo '                   ($${SDP_CACHE:-~/.cache/linux-sdp})'

# Results are in build/host/modules. Findings about layers do not stop an
# installation: another compiler may place a symbol elsewhere.
modules:
	@scripts/build-modules.sh host $(O)
	@for l in drivers/*/LAYERS lib/*/LAYERS; do \
		scripts/check-layers.sh $(O)/host/src/$${l%/LAYERS} $$l || true; \
	done

# Filter streams, see examples/filters/README.rst; in build/examples
examples:
	@$(MAKE) --no-print-directory -s -C examples/filters O=$(O)/examples

tools:
	@$(MAKE) --no-print-directory -s -C tools O=$(O)/tools PREFIX=$(PREFIX)

install: modules tools install-tools install-doc
	scripts/install-modules.sh $(O)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/linux include/uapi/linux/*.h

# With the PREFIX= and DESTDIR= of the installation
uninstall:
	$(MAKE) -C tools uninstall O=$(O)/tools PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)
	@for f in $(PAGES); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${f##*.}/$${f##*/}; done
	rm -f $(patsubst include/uapi/%,$(DESTDIR)$(PREFIX)/include/%,$(wildcard include/uapi/linux/*.h))
	scripts/install-modules.sh -r

install-tools: tools
	$(MAKE) -C tools install O=$(O)/tools PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)

install-doc:
	@for f in $(PAGES); do \
		install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man$${f##*.} $$f || exit; \
	done

install-dkms:
	@scripts/install-dkms.sh

uninstall-dkms:
	@scripts/install-dkms.sh -r

deb:
	@scripts/build-deb.sh $(O)

rpm:
	@scripts/build-rpm.sh $(O)

deps:
	@scripts/deps.sh

unit: deps
	@scripts/unit.sh $(O)

fuzz: deps
	@$(MAKE) --no-print-directory -C selftests/fuzz long O=$(O)/selftests/fuzz

mutate: deps
	@TESTS="$(TESTS)" scripts/mutate.sh $(O) "$(FILE)" "$(N)" "$(SEED)"

soak: deps
	@scripts/soak.sh $(O) $(HOURS)

cover: deps
	@scripts/cover.sh $(O) $(TESTS)

lint: deps
	@scripts/lint.sh $(O)

htmldocs: deps
	@scripts/htmldocs.sh $(O)

into-kernel: deps
	@scripts/into-kernel-check.sh $(O)

check: deps
	@scripts/check.sh $(TESTS)

check-long: deps
	@scripts/check.sh --long $(TESTS)

check-more: deps
	@scripts/check.sh --only-long $(TESTS)

demo: deps
	@selftests/demo/run.sh

demo-filters: deps
	@selftests/demo/filters.sh

bench: deps
	@selftests/bench/run.sh

profile: deps
	@selftests/bench/profile.sh --layers

report:
	@selftests/report/run.sh

vm: deps
	@selftests/vm/run.sh -i -k $(KERNEL) -b $(O)

clean:
	rm -rf build

clean-cache:
	@scripts/clean-cache.sh

.PHONY: all help modules tools examples install install-tools install-doc deps unit fuzz mutate cover soak profile lint \
	htmldocs into-kernel check check-long check-more demo demo-filters bench report vm clean clean-cache
.PHONY: uninstall install-dkms uninstall-dkms deb rpm
