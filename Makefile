# whyperf: a short front for meson.
#
#   make          build with gcc into build/
#   make demo     install what is missing, build, and sweep TCP over every placement of this machine's CPUs
#   make test     install what is missing, build every variant, run all tests
#   make deps     install what is missing for all of these (Debian packages; needs root or sudo)
#   make install  into PREFIX (default /usr/local), DESTDIR honoured
#   make bench    side by side with the installed peers, as ratios (not a test)
#   make clean

PREFIX ?= /usr/local
BUILD  ?= build

# What it takes to build, what the tests use besides, and what only benchmarks and fuzz builds use.
BUILD_PACKAGES = gcc libc6-dev meson ninja-build pkg-config python3 libjansson-dev libsqlite3-dev libhwloc-dev \
	libssl-dev libnl-3-dev libnl-route-3-dev libnl-genl-3-dev
TEST_PACKAGES  = libcmocka-dev clang iproute2 util-linux
EXTRA_PACKAGES = iperf3 iperf libclang-rt-14-dev

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

# Tests are built only where cmocka is there, so that a plain build needs the build packages alone.
$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix $(PREFIX) -Dtests=$$(pkg-config --exists cmocka && echo true || echo false)

deps:
	@tests/install-packages $(BUILD_PACKAGES) $(TEST_PACKAGES) $(EXTRA_PACKAGES)

test-deps:
	@tests/install-packages $(BUILD_PACKAGES) $(TEST_PACKAGES)

build-deps:
	@tests/install-packages $(BUILD_PACKAGES)

demo: build-deps
	@$(MAKE) --no-print-directory all >$(CURDIR)/.demo-build.log 2>&1 || { cat .demo-build.log; exit 1; }
	@rm -f .demo-build.log
	@tests/demo $(BUILD)/whyperf

test: test-deps
	@tests/run-suites

test-long: test-deps
	@WP_LONG=1 tests/run-suites

bench: deps all
	@bench/run $(BUILD)

install: all
	@meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf build build-asan build-tsan build-clang

.PHONY: all deps build-deps test-deps demo test test-long bench install clean
