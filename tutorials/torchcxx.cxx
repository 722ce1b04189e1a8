/*
   A model of libtorch on the ranks of MPI, in C++: by torch::optim::Adam with gradients that a loop of MPI_Allreduce averages, and by
   what takes the place of both.

     mpiexec -n 2 ./torchcxx [options of PetscMuon, -muon_view_cost for instance]

   The page "From torch::optim in C++" of the manual says how to compile it.
*/
#include <petscmuontorch.h>

static const int steps = 200;

/* Learns f(x) = sin(pi x1) cos(pi x2). The same weights on all ranks, and points of this rank alone */
struct Problem {
  torch::nn::Sequential net;
  torch::Tensor         x, y;

  Problem(int rank)
  {
    torch::manual_seed(0);
    net = torch::nn::Sequential(torch::nn::Linear(2, 64), torch::nn::Tanh(), torch::nn::Linear(64, 64), torch::nn::Tanh(), torch::nn::Linear(64, 1));
    torch::manual_seed(1 + rank);
    x = 2 * torch::rand({256, 2}) - 1;
    y = torch::sin(M_PI * x.slice(1, 0, 1)) * torch::cos(M_PI * x.slice(1, 1, 2));
  }
  torch::Tensor Loss()
  {
    return torch::mse_loss(net->forward(x), y);
  }
};

static double MeanLoss(Problem &problem, MPI_Comm comm)
{
  double loss = problem.Loss().item<double>();
  int    size;

  MPI_Comm_size(comm, &size);
  MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, comm);
  return loss / size;
}

/* Each gradient is summed over the ranks, and all ranks take the same step */
static void TrainByAdam(Problem &problem, MPI_Comm comm)
{
  torch::optim::Adam   optimizer(problem.net->parameters(), torch::optim::AdamOptions(0.01));
  torch::optim::StepLR scheduler(optimizer, 50, 0.5);
  int                  size;

  MPI_Comm_size(comm, &size);
  for (int step = 0; step < steps; step++) {
    optimizer.zero_grad();
    problem.Loss().backward();
    for (auto &p : problem.net->parameters()) {
      MPI_Allreduce(MPI_IN_PLACE, p.grad().data_ptr(), (int)p.numel(), MPI_FLOAT, MPI_SUM, comm);
      p.mutable_grad() /= size;
    }
    optimizer.step();
    scheduler.step();
  }
}

/* Gradients stay those of the rank; what each momentum gained is sent in 4 bits an entry */
static void TrainByMuon(Problem &problem, MPI_Comm comm)
{
  petscmuon::Muon      optimizer(problem.net->named_parameters(), comm, "-muon_type ef21 -ef21_compressor qsgd", petscmuon::MuonOptions(0.03).adamw_lr(0.01));
  torch::optim::StepLR scheduler(optimizer, 50, 0.5);

  for (int step = 0; step < steps; step++) {
    optimizer.zero_grad();
    problem.Loss().backward();
    optimizer.step();
    scheduler.step();
  }
}

int main(int argc, char **argv)
{
  int rank;

  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, NULL));
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  torch::set_num_threads(1);
  for (bool ours : {false, true}) {
    Problem      problem(rank);
    const double before = MeanLoss(problem, PETSC_COMM_WORLD);

    (ours ? TrainByMuon : TrainByAdam)(problem, PETSC_COMM_WORLD);
    const double after = MeanLoss(problem, PETSC_COMM_WORLD);

    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s loss %.5f to %.5f, below a tenth: %s\n", ours ? "petscmuon::Muon" : "torch::optim::Adam", before, after, after < before / 10 ? "yes" : "no"));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}
