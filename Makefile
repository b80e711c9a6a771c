# whyperf: a short front for meson.
#
#   make          build with gcc into build/
#   make demo     install what is missing, build, and sweep TCP over every placement of this machine's CPUs
#   make test     install what is missing, build every variant, run all tests
#   make deps     install what is missing (Debian packages; needs root or sudo)
#   make install  into PREFIX (default /usr/local), DESTDIR honoured
#   make bench    side by side with the installed peers, as ratios (not a test)
#   make clean

PREFIX ?= /usr/local
BUILD  ?= build

# What it takes to build, and what the tests use besides.
BUILD_PACKAGES = gcc libc6-dev meson ninja-build pkg-config python3 libjansson-dev libsqlite3-dev libhwloc-dev \
	libssl-dev libnl-3-dev libnl-route-3-dev libnl-genl-3-dev
TEST_PACKAGES  = libcmocka-dev clang libclang-rt-14-dev iproute2 iperf3 iperf util-linux procps

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

# Tests are built only where cmocka is there, so that a plain build needs the build packages alone.
$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix $(PREFIX) -Dtests=$$(pkg-config --exists cmocka && echo true || echo false)

deps:
	@tests/install-packages $(BUILD_PACKAGES) $(TEST_PACKAGES)

build-deps:
	@tests/install-packages $(BUILD_PACKAGES)

demo: build-deps
	@$(MAKE) --no-print-directory all >$(CURDIR)/.demo-build.log 2>&1 || { cat .demo-build.log; exit 1; }
	@rm -f .demo-build.log
	@tests/demo $(BUILD)/whyperf

test: deps
	@tests/run-suites

test-long: deps
	@WP_LONG=1 tests/run-suites

bench: deps all
	@bench/run $(BUILD)

install: all
	@meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf build build-asan build-tsan build-clang

.PHONY: all deps build-deps demo test test-long bench install clean
