#!/bin/sh
#TEST requires: git
# The tree follows its own rules
"$PYTHON3" "$PETSCMUON_DIR/config/tools/checkstyle.py" && exec "$PYTHON3" "$PETSCMUON_DIR/config/counters" --hold
