#!/bin/sh
#TEST requires: mpi4py
# A rank that ends by an exception ends the others, who wait for it in a step
set -u
cat > program.py <<'END'
import mpi4py.MPI as MPI, numpy, petscmuon
w = numpy.ones((2, 2))
muon = petscmuon.Muon(MPI.COMM_WORLD)
layer = muon.add_layer("w", w)
layer.set_gradient(w.copy())
muon.step()
if MPI.COMM_WORLD.Get_rank() == 1:
  raise ValueError("the data of this rank are gone")
muon.step()
END
python=$PYTHON3
$python -c 'import mpi4py, numpy' 2> /dev/null || python=/usr/bin/python3
if PETSCMUON_DIR=$BUILD "$MPIEXEC" -n 2 $python program.py > run.log 2>&1; then
  echo "the program did not fail"
  exit 1
fi
grep -q "the data of this rank are gone" run.log || { cat run.log; exit 1; }
