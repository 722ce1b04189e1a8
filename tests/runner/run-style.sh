#!/bin/sh
#TEST requires: git
# The tree follows its own rules
exec "$PYTHON3" "$PETSCMUON_DIR/config/tools/checkstyle.py"
