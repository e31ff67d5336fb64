# SPDX-License-Identifier: Apache-2.0
#
# samples/packages.sh: what the scripts need from the system, in one place. To be sourced by bash.
#
# lockstep_install ROLE...: on Debian, as root or by sudo, installs those packages of the roles that
# are not there; elsewhere names the programs and libraries that are missing and fails. Nothing is
# fetched that is there. lockstep_mpi_environment: what Open MPI wants of four ranks on two cores.

lockstep_packages_build="meson ninja-build gcc libc6-dev pkg-config python3 libgtk-4-dev libcairo2-dev
    libjson-c-dev libzstd-dev zlib1g-dev libopenmpi-dev openmpi-bin
    fonts-dejavu-core adwaita-icon-theme librsvg2-common"
lockstep_packages_test="libxtst-dev libx11-dev xvfb xauth xdotool imagemagick x11-utils dbus dbus-x11 at-spi2-core git binutils"
lockstep_packages_ci="clang libclang-rt-14-dev"

# For systems without dpkg: the same as programs and pkg-config names.
lockstep_programs_build="meson ninja gcc pkg-config python3 mpicc mpirun"
lockstep_libraries_build="gtk4 cairo json-c libzstd zlib"
lockstep_programs_test="Xvfb xvfb-run xdotool import dbus-run-session git readelf"
lockstep_libraries_test="xtst x11"
lockstep_programs_ci="clang"

# Debian's own Python and tools stand first: meson and the tests use /usr/bin/python3.
PATH="/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH"

lockstep_missing_packages() {
    local package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
            echo "$package"
    done
}

lockstep_missing_elsewhere() {
    local role name programs libraries
    for role in "$@"; do
        programs="lockstep_programs_$role"
        libraries="lockstep_libraries_$role"
        for name in ${!programs-}; do
            command -v "$name" >/dev/null 2>&1 || echo "$name"
        done
        for name in ${!libraries-}; do
            pkg-config --exists "$name" 2>/dev/null || echo "$name"
        done
    done
}

lockstep_apt() {
    local as_root="" log
    [ "$(id -u)" = 0 ] || as_root="sudo -n"
    log=$(mktemp)
    echo "installing: $*" >&2
    if $as_root env DEBIAN_FRONTEND=noninteractive sh -c \
        'apt-get -qq -o Acquire::Retries=5 update && apt-get -qq -o Acquire::Retries=5 \
            -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "$@"' sh "$@" \
        >"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    cat "$log" >&2
    rm -f "$log"
    return 1
}

lockstep_install() {
    local role list wanted="" missing
    for role in "$@"; do
        list="lockstep_packages_$role"
        wanted="$wanted ${!list}"
    done
    if ! grep -qs '^ID=debian' /etc/os-release || ! command -v dpkg-query >/dev/null 2>&1; then
        missing=$(lockstep_missing_elsewhere "$@")
        [ -z "$missing" ] && return 0
        echo "missing on this system: $(echo $missing). Install them and run this again." >&2
        return 1
    fi
    missing=$(lockstep_missing_packages $wanted)
    [ -z "$missing" ] && return 0
    if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
        echo "missing: run as root: apt-get install --no-install-recommends $(echo $missing)" >&2
        return 1
    fi
    lockstep_apt $missing
}

lockstep_mpi_environment() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
    export OMPI_MCA_hwloc_base_binding_policy=none
}
