#!/bin/sh
# A browser for the tests of the report and the docs: one that is there already, or Debian's Chromium.
set -eu
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null; then
        exit 0
    fi
done
if ! command -v apt-get >/dev/null; then
    echo "The tests need Chromium or Chrome on PATH, and there is no apt-get to install it; install one of them." >&2
    exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo -n"
    if ! $as_root true 2>/dev/null; then
        echo "The tests need Chromium or Chrome on PATH; install it with: sudo apt-get install chromium" >&2
        exit 1
    fi
fi
# The index may be missing or old, so a failed install is tried once more after an update.
install="env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends chromium"
$as_root $install || { $as_root apt-get update --quiet && $as_root $install; }
