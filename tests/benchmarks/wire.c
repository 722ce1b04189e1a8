static char help[] = "Prints what messages cost, by the paper's formula, as sent and by their entropy, how fast they are made and read, and below which bandwidth of the network that is worth it, beside\n"
                     "the bandwidth of the memory in the same run.\n\n"
                     "  ./wire -benchmark_rows 2048 -benchmark_columns 2048 -benchmark_precision double -benchmark_rank_rows 256 -benchmark_residuals FILE -benchmark_csv FILE\n\n"
                     "Costs are relative to 32 bits an entry. Rates are of the entries of the matrix, one core: encode is the residual, the choice and the message; validate the check of a message; add the check and the\n"
                     "sum, as a server does it. GB/s of binary32 input are four times the entries, of scalars as many times as an entry has bytes. tutorials/nanogpt -nanogpt_residuals FILE writes real residuals.\n\n";

#include "benchmark_common.h"
#include <petscmuon/private/muonwire.h>
#include "wire/muonwirecrc.h"
#include "messages.h"

/* No operation is repeated for longer, in seconds */
#define ENOUGH 1.0

/* What the tables are held to: times the entropy for matrices of so many entries and more, else bytes beyond it; 1e9 entries a second */
#define AIM_ENTRIES 65536
#define AIM_RATIO   1.03
#define AIM_BYTES   160
#define AIM_HEADERS 0.005
#define AIM_SENT    0.0215
#define AIM_ENCODE  0.45
#define AIM_ADD     1.0
#define AIM_PACK    3.0

/* Those of Table 2 of the EF21-Muon paper, Top-K with natural values at the two ratios that it leaves out, and the types that it does not have */
static const char *const Rows[] = {TABLE2_ROWS,   "topk 0.2 natural", "topk 0.05 natural", "topk 0.1 bf16", "randk 0.1", "randk 0.1 natural", "columntopk 0.1", "rowtopk 0.1 natural", "powersgd 0.1", "powersgd 0.1 natural",
                                   "topsvd 0.1",  "nearest",          "truncated",         "bf16",          "sign",      "qsgd 2 bits",       "qsgd 3 bits",    "qsgd 4 bits",         "qsgd 5 bits",  "qsgd 6 bits",
                                   "qsgd 7 bits", "qsgd 8 bits",      "dropout 0.5",       "damping 0.9"};
#define ROWS PETSC_STATIC_ARRAY_LENGTH(Rows)

typedef enum {
  GAUSSIAN,
  LAPLACE,
  LOGNORMAL,
  UP,
  DOWN,
  DATA
} Data;
static const char *const DataNames[] = {"gaussian", "laplace", "lognormal", "up", "down"};

/* Matrices that are measured together, as the layers of a model */
typedef struct {
  PetscInt   n;
  MuonArray *T, *R, *Y;
} Set;

/* Sums over a set, in bits and in seconds */
typedef struct {
  PetscInt messages, missed; /* 0 messages: it was not measured */
  double   entries, paper, sent, entropy, byrows, seconds[3];
} Result;

/* lognormal: normally distributed rows, each times exp of a normal number */
static PetscErrorCode Fill(Data data, const MuonArray *A, unsigned long long *state)
{
  PetscFunctionBeginUser;
  for (size_t i = 0; i < A->len; i++) {
    const double scale = data == LOGNORMAL ? exp(Normal(state)) : 1;

    for (size_t j = 0; j < A->count; j++) {
      const double u = Uniform(state), x = data == LAPLACE ? (u < 0.5 ? log(2 * u) : -log(2 * (1 - u))) : scale * Normal(state);

      if (A->precision == MUON_SINGLE) *(float *)MuonArrayAt(A, i, j) = (float)x;
      else *(double *)MuonArrayAt(A, i, j) = x;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MuonPrecision precision = MUON_PETSCSCALAR;

static PetscErrorCode SetCreate(PetscInt n, Set *set)
{
  PetscFunctionBeginUser;
  set->n = n;
  PetscCall(PetscCalloc3(n, &set->T, n, &set->R, n, &set->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetDestroy(Set *set)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < set->n; i++) {
    PetscCall(MuonArrayDestroy(&set->T[i]));
    PetscCall(MuonArrayDestroy(&set->R[i]));
    PetscCall(MuonArrayDestroy(&set->Y[i]));
  }
  PetscCall(PetscFree3(set->T, set->R, set->Y));
  set->n = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is compressed is T - R: R is there and zero, so that it has to be read */
static PetscErrorCode SetAdd(Set *set, PetscInt i, PetscInt rows, PetscInt columns)
{
  const MuonArray shape = MuonArrayOfScalars(rows, columns, NULL, rows);

  PetscFunctionBeginUser;
  PetscCall(MuonArrayCreate(&shape, precision, &set->T[i]));
  PetscCall(MuonArrayCreate(&shape, precision, &set->R[i]));
  PetscCall(MuonArrayCreate(&shape, precision, &set->Y[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A set of one random matrix */
static PetscErrorCode SetFill(Data data, PetscInt rows, PetscInt columns, unsigned long long *state, Set *set)
{
  PetscFunctionBeginUser;
  PetscCall(SetCreate(1, set));
  PetscCall(SetAdd(set, 0, rows, columns));
  PetscCall(Fill(data, &set->T[0], state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrices of a file of tutorials/nanogpt: of every layer what goes up, then what goes down */
static PetscErrorCode SetsLoad(const char file[], Set *up, Set *down)
{
  PetscViewer viewer;
  PetscInt    n = 0, most = 16;
  off_t       at = 0, end = 1, back;
  Mat        *all;
  int         fd;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(most, &all));
  PetscCall(PetscViewerCreate(PETSC_COMM_SELF, &viewer));
  PetscCall(PetscViewerSetType(viewer, PETSCVIEWERBINARY));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(PetscViewerFileSetMode(viewer, FILE_MODE_READ));
  PetscCall(PetscViewerFileSetName(viewer, file));
  PetscCall(PetscViewerBinaryGetDescriptor(viewer, &fd));
  while (at < end) {
    if (n == most) {
      most *= 2;
      PetscCall(PetscRealloc(sizeof(*all) * (size_t)most, &all));
    }
    PetscCall(MatCreate(PETSC_COMM_SELF, &all[n]));
    PetscCall(MatSetType(all[n], MATSEQDENSE));
    PetscCall(MatLoad(all[n++], viewer));
    PetscCall(PetscBinarySeek(fd, 0, PETSC_BINARY_SEEK_CUR, &at));
    PetscCall(PetscBinarySeek(fd, 0, PETSC_BINARY_SEEK_END, &end));
    PetscCall(PetscBinarySeek(fd, at, PETSC_BINARY_SEEK_SET, &back));
  }
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCheck(n % 2 == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "-benchmark_residuals %s: %" PetscInt_FMT " matrices, expected two a layer", file, n);
  PetscCall(SetCreate(n / 2, up));
  PetscCall(SetCreate(n / 2, down));
  for (PetscInt i = 0; i < n; i++) {
    Set       *set = i % 2 == 0 ? up : down;
    MuonMatrix matrix;

    PetscCall(MuonMatGetMatrix(all[i], PETSC_FALSE, &matrix));
    PetscCall(SetAdd(set, i / 2, matrix.rows, matrix.columns));
    MuonArrayAxpby(1, &matrix.here, 0, &set->T[i / 2]);
    PetscCall(MuonMatRestoreMatrix(all[i], PETSC_FALSE, &matrix));
    PetscCall(MatDestroy(&all[i]));
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double Log2Binomial(double n, double k)
{
  return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2.0);
}

/*
   The bits by which the positions of a sparse message cost less once the number of them in each line is
   known; the entries that a message speaks of, of its factors where it has any
*/
static PetscErrorCode Examine(PetscInt m, PetscInt n, size_t bytes, const unsigned char buf[], double *gain, double *entries)
{
  const unsigned char *plain;
  unsigned char       *room;
  MuonWireMessage      came, header;
  MuonWireIndexReader  reader;
  MuonWireLayout       layout;
  double              *kept;

  PetscFunctionBeginUser;
  *gain = 0;
  PetscCheck(MuonWireMessageRead(buf, bytes, &came) == MUON_WIRE_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A message without a header");
  *entries = came.kind == MUON_WIRE_LOWRANK ? (double)came.count * ((double)m + (double)n) : (double)m * (double)n;
  if (came.kind != MUON_WIRE_SPARSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(MuonWireMessageUncompressed(&came, (uint64_t)m, (uint64_t)n, &header, &layout) == MUON_WIRE_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A message without a plain form");
  PetscCall(PetscMalloc1((size_t)MuonWireMessageBytes(&header), &room));
  PetscCheck(MuonWireMessageExpand(buf, bytes, came.layer, (uint64_t)m, (uint64_t)n, (size_t)MuonWireMessageBytes(&header), room, &plain, &header) == MUON_WIRE_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A message that is not valid");
  PetscCall(PetscCalloc1(m, &kept));
  MuonWireIndexReaderInit(&reader, (MuonWireIndices)header.indices, (uint64_t)m * (uint64_t)n, header.count, plain + MuonWireMessageHeaderBytes(&header));
  for (uint64_t k = 0; k < header.count; k++) kept[MuonWireIndexReaderNext(&reader) / (uint64_t)n] += 1;
  *gain = Log2Binomial((double)m * (double)n, (double)header.count);
  for (PetscInt i = 0; i < m; i++) *gain -= Log2Binomial((double)n, kept[i]);
  PetscCall(PetscFree(kept));
  PetscCall(PetscFree(room));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median seconds of one operation; the first run is not counted */
static PetscErrorCode MeasureOperation(int what, MuonCompressor c, const MuonArray *T, const MuonArray *R, const MuonArray *Y, MuonValidated *opened, size_t most, unsigned char buf[], size_t *bytes, PetscInt repetitions, PetscReal times[],
                                       double *seconds)
{
  PetscLogDouble start, spent = 0, median;
  PetscReal      once;
  PetscBool      valid = PETSC_TRUE;
  PetscInt       done  = 0;

  PetscFunctionBeginUser;
  for (PetscInt r = -1; r < repetitions && (spent < ENOUGH || done == 0); r++) {
    PetscCall(Now(&start));
    if (what == 0) PetscCall(MuonCompressorEncodeArray(c, T, R, most, buf, bytes, PETSC_FALSE, NULL, NULL));
    else if (what == 1) PetscCall(MuonCompressorValidateArray(c, T, *bytes, buf, PETSC_FALSE, NULL, opened, &valid));
    else PetscCall(MuonCompressorDecodeArray(c, PETSC_TRUE, 1, *bytes, buf, Y, &valid));
    PetscCall(Elapsed(start, &once));
    spent += (PetscLogDouble)once;
    if (r >= 0) times[done++] = once;
  }
  PetscCheck(valid == PETSC_TRUE && *bytes > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A message that is not valid");
  PetscCall(Median(done, times, &median));
  *seconds += median;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureRow(const char row[], const Set *set, PetscInt repetitions, PetscReal times[], Result *result)
{
  MuonCompressor c;
  double         chance = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(result, sizeof(*result)));
  PetscCall(CompressorCreate(row, &c));
  (void)sscanf(row, "dropout %lf", &chance);
  for (PetscInt i = 0; i < set->n; i++) {
    MuonCompressorCost cost;
    MuonValidated      opened = {NULL, 0, NULL, 0, NULL};
    PetscBool          valid;
    const PetscInt     m = (PetscInt)set->T[i].len, n = (PetscInt)set->T[i].count;
    unsigned char     *buf;
    size_t             most, bytes = 0;
    double             gain, entries;

    PetscCall(MuonCompressorGetMaxBytesOf(c, &set->T[i], &most));
    PetscCall(PetscMalloc1(most, &buf));
    /* A coin that fell the wrong way: the next step throws another */
    for (PetscInt step = 0; chance < 1 && bytes <= (size_t)MUON_WIRE_MESSAGE_HEADER_MOST; step++) {
      PetscCall(MuonCompressorSetStep(c, step));
      PetscCall(MuonCompressorEncodeArray(c, &set->T[i], &set->R[i], most, buf, &bytes, PETSC_FALSE, NULL, NULL));
    }
    for (int what = 0; what < 3; what++) PetscCall(MeasureOperation(what, c, &set->T[i], &set->R[i], &set->Y[i], &opened, most, buf, &bytes, repetitions, times, &result->seconds[what]));
    PetscCheck(c->status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: status %s", row, MuonStatuses[c->status]);
    PetscCall(MuonCompressorValidateArray(c, &set->T[i], bytes, buf, PETSC_TRUE, &cost, &opened, &valid));
    PetscCall(Examine(n, m, bytes, buf, &gain, &entries));
    PetscCall(MuonValidatedDestroy(&opened));
    result->messages++;
    result->entries += (double)m * (double)n;
    result->paper += cost.paper;
    result->sent += chance * cost.encoded;
    result->entropy += chance * cost.entropy;
    result->byrows += chance * (cost.entropy - gain);
    if (entries >= AIM_ENTRIES ? cost.encoded > AIM_RATIO * cost.entropy : cost.encoded > cost.entropy + 8 * AIM_BYTES) result->missed++;
    PetscCall(PetscFree(buf));
  }
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintCosts(Result results[DATA][ROWS])
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\ncosts: part of binary32, counted, sent and at least; by rows: the same bound where the number of positions in each line of the memory is known, too\n"));
  Print("%-10s%-22s%9s%9s%9s%9s%9s\n", "data", "compressor", "paper", "sent", "entropy", "by rows", "sent/ent");
  for (int data = 0; data < DATA; data++) {
    for (size_t r = 0; r < ROWS; r++) {
      const Result *x        = &results[data][r];
      const double  dense    = 32 * x->entries;
      char          mark[64] = "";

      if (x->messages == 0) continue;
      if (x->missed > 0) PetscCall(PetscSNPrintf(mark, sizeof(mark), "  MISSED by %" PetscInt_FMT " of %" PetscInt_FMT, x->missed, x->messages));
      Print("%-10s%-22s%9.5f%9.5f%9.5f%9.5f%9.4f%s\n", DataNames[data], Rows[r], x->paper / dense, x->sent / dense, x->entropy / dense, x->byrows / dense, x->sent / x->entropy, mark);
    }
  }
  Print("Aim: a message of %d entries and more at most %g times its entropy, of fewer at most %d bytes beyond it. A message of dropout is sent or not: its cost is the mean.\n", AIM_ENTRIES, AIM_RATIO, AIM_BYTES);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bits a second of a link that takes as long for what is not sent, of 32 bits an entry, as one core for the message; 0 where more is sent */
static double Bandwidth(const Result *x, double seconds)
{
  return PetscMax(0, (32 * x->entries - x->sent) / seconds);
}

static double Scalar(void)
{
  return precision == MUON_SINGLE ? sizeof(float) : sizeof(double);
}

static PetscErrorCode PrintRates(Result results[DATA][ROWS])
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\nrates: one core; a direction is worth it below so many Gbit/s of the network, (32 bits an entry - sent) / (encode + add) up, (32 - sent) / (encode + validate + add) down\n"));
  Print("%-32s%27s%18s%18s%18s\n", "", "1e9 entries/s", "GB/s of binary32", "GB/s of scalars", "Gbit/s, below");
  Print("%-10s%-22s%9s%9s%9s%9s%9s%9s%9s%9s%9s\n", "data", "compressor", "encode", "validate", "add", "encode", "add", "encode", "add", "up", "down");
  for (int data = 0; data < DATA; data++) {
    for (size_t r = 0; r < ROWS; r++) {
      const Result *x       = &results[data][r];
      const double  entries = x->entries / 1e9, *s = x->seconds;

      if (x->messages == 0) continue;
      Print("%-10s%-22s%9.4f%9.4f%9.4f%9.3f%9.3f%9.3f%9.3f%9.2f%9.2f\n", DataNames[data], Rows[r], entries / s[0], entries / s[1], entries / s[2], 4 * entries / s[0], 4 * entries / s[2], Scalar() * entries / s[0], Scalar() * entries / s[2],
            Bandwidth(x, s[0] + s[2]) / 1e9, Bandwidth(x, s[0] + s[1] + s[2]) / 1e9);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteCSV(const char file[], Result results[DATA][ROWS], PetscLogDouble triad)
{
  FILE *out = fopen(file, "w");

  PetscFunctionBeginUser;
  PetscCheck(out != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "-benchmark_csv %s: the file cannot be opened for writing", file);
  fprintf(out, "data,compressor,entries,messages,missed,paper,sent,entropy,by_rows,encode,validate,add,triad\n");
  for (int data = 0; data < DATA; data++) {
    for (size_t r = 0; r < ROWS; r++) {
      const Result *x     = &results[data][r];
      const double  dense = 32 * x->entries;

      if (x->messages == 0) continue;
      fprintf(out, "%s,%s,%.0f,%d,%d,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n", DataNames[data], Rows[r], x->entries, (int)x->messages, (int)x->missed, x->paper / dense, x->sent / dense, x->entropy / dense, x->byrows / dense,
              x->entries / x->seconds[0], x->entries / x->seconds[1], x->entries / x->seconds[2], triad);
    }
  }
  PetscCheck(fclose(out) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "-benchmark_csv %s: the file cannot be written", file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintAim(const char what[], double rate, double aim, double bytes, PetscLogDouble triad)
{
  PetscFunctionBeginUser;
  Print("%-56s%9.3f%9.2f%10.3f%s\n", what, rate / 1e9, aim, bytes * rate / triad, rate < 1e9 * aim ? "  MISSED" : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the aims of speed are about: Top-10% with natural values and signs of a matrix that is no guest of the caches */
static PetscErrorCode MeasureAims(PetscInt rows, PetscInt columns, unsigned long long *state, PetscInt repetitions, PetscReal times[], PetscLogDouble triad)
{
  PetscLogDouble median;
  Result         x;
  Set            set;
  unsigned char *bits;

  PetscFunctionBeginUser;
  PetscCall(SetFill(GAUSSIAN, rows, columns, state, &set));
  PetscCall(MeasureRow("topk 0.1 natural", &set, repetitions, times, &x));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\naims: %" PetscInt_FMT " x %" PetscInt_FMT " in %s precision; part of the triad: the bytes of the matrices that have to be read and written, over its rate\n", rows, columns,
                        precision == MUON_SINGLE ? "single" : "double"));
  Print("%-56s%9s%9s%10s\n", "", "1e9/s", "aim", "of triad");
  PetscCall(PrintAim("residual, selection and encoding, topk 0.1 natural", x.entries / x.seconds[0], AIM_ENCODE, 2 * Scalar(), triad));
  PetscCall(PrintAim("check, decoding and sum, topk 0.1 natural", x.entries / x.seconds[2], AIM_ADD, 2 * Scalar(), triad));
  Print("%-56s%9.5f%9.4f%s\n", "part of binary32 that it sends of normal numbers, at most", x.sent / (32 * x.entries), AIM_SENT, x.sent > AIM_SENT * 32 * x.entries ? "            MISSED" : "");
  PetscCall(PetscMalloc1((rows * columns + 7) / 8, &bits));
  for (int residual = 0; residual < 2; residual++) {
    double sum;
    int    status;

    TIME(repetitions, times, &median, status = MuonArrayKernels(&set.T[0])->Signs(set.T[0].len, set.T[0].count, set.T[0].data, set.T[0].ld, residual ? set.R[0].data : NULL, set.R[0].ld, bits, NULL, &sum));
    PetscCheck(status == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A matrix that is not finite");
    PetscCall(PrintAim(residual ? "1 bit an entry of a difference, and its sum of sizes" : "1 bit an entry of a matrix, and its sum of sizes", x.entries / median, AIM_PACK, (1 + residual) * Scalar(), triad));
  }
  PetscCall(PetscFree(bits));
  PetscCall(SetDestroy(&set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Headers of packet and messages over what one worker sends to one server, Top-K with natural values of normally distributed layers */
static PetscErrorCode MeasureHeaders(const char model[], PetscBool aim, size_t nshapes, const Shape shapes[], PetscInt divide, const char row[], unsigned long long *state)
{
  double         headers = MUON_WIRE_PACKET_HEADER, sent = MUON_WIRE_PACKET_HEADER;
  PetscInt       layers = 0;
  MuonCompressor c;

  PetscFunctionBeginUser;
  PetscCall(CompressorCreate(row, &c));
  for (size_t s = 0; s < nshapes; s++) {
    const PetscInt  m = PetscMax(1, shapes[s].rows / divide), n = PetscMax(1, shapes[s].columns / divide);
    MuonWireMessage header;
    unsigned char  *buf;
    size_t          most, bytes;
    Set             set;

    PetscCall(SetFill(GAUSSIAN, m, n, state, &set));
    PetscCall(MuonCompressorGetMaxBytesOf(c, &set.T[0], &most));
    PetscCall(PetscMalloc1(most, &buf));
    PetscCall(MuonCompressorEncodeArray(c, &set.T[0], NULL, most, buf, &bytes, PETSC_FALSE, NULL, NULL));
    PetscCheck(MuonWireMessageRead(buf, bytes, &header) == MUON_WIRE_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A message without a header");
    layers += shapes[s].count;
    headers += (double)shapes[s].count * ((double)bytes - (double)header.bytes);
    sent += (double)shapes[s].count * (double)bytes;
    PetscCall(PetscFree(buf));
    PetscCall(SetDestroy(&set));
  }
  PetscCall(MuonCompressorDestroy(&c));
  Print("%-12s%8" PetscInt_FMT "  %-10.9s%12.0f%12.0f%9.3f%%%s\n", model, layers, row, headers, sent, 100 * headers / sent, aim == PETSC_TRUE && headers > AIM_HEADERS * sent ? "  MISSED" : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintHeaders(PetscInt divide, unsigned long long *state)
{
  const Shape quickstart[] = {{256, 128, 1}, {128, 128, 8}, {512, 128, 2}, {128, 512, 2}};

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\nheaders: of a packet and of its messages, one of each layer; aim at most %g%% for NanoGPT\n%-12s%8s  %-10s%12s%12s%10s\n", 100 * AIM_HEADERS, "model", "layers", "compressor", "headers", "bytes", "part"));
  PetscCall(MeasureHeaders("NanoGPT 124M", PETSC_TRUE, PETSC_STATIC_ARRAY_LENGTH(NanoGPT), NanoGPT, divide, "topk 0.1 natural", state));
  PetscCall(MeasureHeaders("NanoGPT 124M", PETSC_TRUE, PETSC_STATIC_ARRAY_LENGTH(NanoGPT), NanoGPT, divide, "topk 0.05 natural", state));
  PetscCall(MeasureHeaders("quickstart", PETSC_FALSE, PETSC_STATIC_ARRAY_LENGTH(quickstart), quickstart, divide, "topk 0.1 natural", state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which checksum runs, and how fast */
static PetscErrorCode ReportCRC(PetscInt repetitions, PetscReal times[])
{
  const size_t   bytes = (size_t)1 << 24;
  const char    *name  = "tables";
  PetscLogDouble median;
  unsigned char *data;
  uint32_t       crc = 0;

  PetscFunctionBeginUser;
#if defined(MUON_WIRE_HAVE_SSE42)
  if (__builtin_cpu_supports("sse4.2")) name = "the instruction of SSE4.2";
#endif
  PetscCall(PetscMalloc1(bytes, &data));
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(i * 131);
  TIME(repetitions, times, &median, crc = MuonWireCRC32C(crc, data, bytes));
  PetscCall(PetscFree(data));
  Print("CRC-32C: by %s, %.2f GB/s%s\n", name, (double)bytes / median / 1e9, crc == 1 ? "." : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReportProcessor(void)
{
  char  line[512];
  FILE *file = fopen("/proc/cpuinfo", "r");

  PetscFunctionBeginUser;
  if (file == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  while (fgets(line, sizeof(line), file) != NULL) {
    const char *name = strchr(line, ':');

    if (strncmp(line, "model name", 10) != 0 || name == NULL) continue;
    Print("processor:%s", name + 1);
    break;
  }
  fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const precisions[] = {"single", "double"};
  PetscInt          chosen       = (PetscInt)precision;
  PetscInt          rows = 2048, columns = 2048, rankrows = 256, repetitions = 5, divide = 1;
  PetscLogDouble    triad = 0, again = 0;
  PetscReal        *times;
  Result(*results)[ROWS];
  Set                sets[DATA][2];
  char               residuals[PETSC_MAX_PATH_LEN] = "", csv[PETSC_MAX_PATH_LEN] = "", pattern[64] = "";
  unsigned long long state = 1;

  PetscFunctionBeginUser;
  PetscCall(BenchmarkInitialize(&argc, &argv, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of messages", NULL);
  OptionCount("-benchmark_rows", "Rows of the matrix", rows);
  OptionCount("-benchmark_columns", "Its columns", columns);
  PetscCall(PetscOptionsEList("-benchmark_precision", "Precision of the matrices", NULL, precisions, 2, precisions[chosen], &chosen, NULL));
  precision = (MuonPrecision)chosen;
  OptionCount("-benchmark_rank_rows", "Rows and columns of the matrix for singular value decompositions", rankrows);
  OptionCount("-benchmark_repetitions", "Runs of which the median is taken", repetitions);
  OptionCount("-benchmark_model_divide", "What the sides of the layers of the models are divided by", divide);
  OptionClock("wall, or cpu where others use the machine and the BLAS has one thread");
  OptionString("-benchmark_compressor", "Measure types that begin like this only", pattern);
  OptionString("-benchmark_residuals", "File of tutorials/nanogpt -nanogpt_residuals", residuals);
  OptionString("-benchmark_csv", "File that gets all rows", csv);
  PetscOptionsEnd();
  PetscCall(PetscMalloc1(repetitions, &times));
  PetscCall(PetscCalloc1(DATA, &results));
  PetscCall(MeasureTriad(repetitions, times, &triad));
  PetscCall(ReportProcessor());
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " x %" PetscInt_FMT ", for singular value decompositions %" PetscInt_FMT " x %" PetscInt_FMT ", entries of %d bytes; seconds of the clock %s; triad: %.2f GB/s\n", rows, columns, rankrows,
                        rankrows, (int)sizeof(PetscScalar), Clocks[ticks], triad / 1e9));
  PetscCall(ReportBlas());
  PetscCall(ReportCRC(repetitions, times));
  PetscCall(PetscMemzero(sets, sizeof(sets)));
  for (int data = 0; data < UP; data++) {
    PetscCall(SetFill((Data)data, rows, columns, &state, &sets[data][0]));
    PetscCall(SetFill((Data)data, rankrows, rankrows, &state, &sets[data][1]));
  }
  if (residuals[0] != '\0') {
    PetscCall(SetsLoad(residuals, &sets[UP][0], &sets[DOWN][0]));
    Print("up and down: %" PetscInt_FMT " matrices each of %s\n", sets[UP][0].n, residuals);
  }
  for (int data = 0; data < DATA; data++) {
    for (size_t r = 0; r < ROWS; r++) {
      const int small = (strncmp(Rows[r], MUONCOMPRESSORRANKK, 5) == 0 || strncmp(Rows[r], MUONCOMPRESSORTOPSVD, 6) == 0) && data < UP; /* decompositions */

      if (strncmp(Rows[r], pattern, strlen(pattern)) == 0 && sets[data][small].n > 0) PetscCall(MeasureRow(Rows[r], &sets[data][small], repetitions, times, &results[data][r]));
    }
    for (int small = 0; small < 2; small++) PetscCall(SetDestroy(&sets[data][small]));
  }
  PetscCall(PrintCosts(results));
  PetscCall(PrintRates(results));
  PetscCall(MeasureTriad(repetitions, times, &again));
  triad = PetscMax(triad, again);
  PetscCall(MeasureAims(PetscMax(1, 50304 / divide), PetscMax(1, 768 / divide), &state, repetitions, times, triad));
  PetscCall(PrintHeaders(divide, &state));
  Print("\ntriad: %.2f GB/s, the better of before and after\n", triad / 1e9);
  if (csv[0] != '\0') PetscCall(WriteCSV(csv, results, triad));
  PetscCall(PetscFree(results));
  PetscCall(PetscFree(times));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  link: internal

  # The costs of small matrices, but for those of singular vectors; they do not depend on the machine
  testset:
    args: -benchmark_rows 100 -benchmark_columns 70 -benchmark_rank_rows 20 -benchmark_repetitions 1 -benchmark_model_divide 32
    requires: double
    # Each row of the costs has one of rates
    test:
      suffix: costs
      filter: awk '/^costs/ {c = 1} /^rates/ {r = 1} r && /^[gl]/ {n++} c && !/rankk|topsvd|powersgd|^la|^lo/; /^Aim/ {c = 0} END {print n " rates"}'
    test:
      suffix: headers
      args: -benchmark_compressor identity
      filter: sed -n -e '/^headers/,/^$/p' | grep -o -E '^[a-zA-Z0-9 ]+ topk [0-9.]+'

  test:
    suffix: none
    args: -benchmark_repetitions 0
    error: -benchmark_repetitions

TEST*/
