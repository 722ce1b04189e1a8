#!/bin/sh
# Prints the option keys that the given sources read, as the initializer of a C array: what a misspelt key is compared with.
set -eu

printf '#pragma once\n\n/* The keys that the library reads, without their prefixes; generated from its sources */\n'
printf 'static const char *const MuonOptionKeys[] = {\n'
grep -hoE '(PetscOptions[A-Za-z0-9]+|ViewFromOptions)\(.*"-[a-z0-9_]+"' "$@" /dev/null | grep -oE '"-[a-z0-9_]+"' | sed 's/"-/  "/; s/$/,/' | sort -u
printf '  NULL};\n'
