/*
   Parameters as data. Each class and each type has a static array of rows. Reading options, ranges, what ranks
   compare, what View prints, the error after SetUp, keys for misspelled options and the manual's table of
   options all come from it.

   What a row cannot say (two values that depend on each other) is checked by the class, in the operation
   changing() or at its SetUp().
*/
#pragma once

#include <petscmuoncompat.h>
#include <petscmuonsys.h>
#include <float.h>

typedef enum {
  MUON_PARAMETER_REAL,  /* PetscReal */
  MUON_PARAMETER_INT,   /* PetscInt */
  MUON_PARAMETER_INT64, /* PetscInt64 */
  MUON_PARAMETER_BOOL,  /* PetscBool */
  MUON_PARAMETER_ENUM,  /* an enumeration from 0 on */
  MUON_PARAMETER_TEXT   /* char *, allocated, NULL for none */
} MuonParameterKind;

/* By default a parameter acts at the next step, is the same on all ranks, is shown, and its range has its ends */
enum {
  MUON_PARAMETER_DATA   = 1,    /* the field is in the object's data, or in that of a part, not in the object */
  MUON_PARAMETER_FIXED  = 2,    /* an error when changed after SetUp() */
  MUON_PARAMETER_LOCAL  = 4,    /* may differ between ranks */
  MUON_PARAMETER_ABOVE  = 8,    /* the value must exceed least */
  MUON_PARAMETER_BELOW  = 16,   /* the value must be below most */
  MUON_PARAMETER_AUTO   = 32,   /* PETSC_DETERMINE is legal, too: the type or another object decides */
  MUON_PARAMETER_INF    = 64,   /* a real that may be inf */
  MUON_PARAMETER_HIDDEN = 128,  /* View does not print it */
  MUON_PARAMETER_SHARED = 512,  /* of an object with a family of its own: read for all of the class behind "muon_layer_", too, and then behind "muon_layer_NAME_" */
  MUON_PARAMETER_BEHIND = 1024, /* the field is in a struct that the object has a pointer to: at is MUON_PARAMETER_AT() */
  MUON_PARAMETER_PARENT = 2048, /* where it is not set it has the value of the parent's row of this key, though that is of another class */
  MUON_PARAMETER_BARE   = 256   /* the key is not behind the family of the class: "ef21_downlink" of a Muon */
};

#define MUON_UNBOUNDED DBL_MAX

/* The pointer's offset in the object, and that of the field behind it */
#define MUON_PARAMETER_AT(Object, pointer, Struct, field) (offsetof(Object, pointer) << 16 | offsetof(Struct, field))

/* The last row of an array has no key */
typedef struct _MuonParameter {
  const char        *key; /* behind the family of the class: "steps" of -lmo_polar_steps */
  MuonParameterKind  kind;
  size_t             at;                 /* offset of the field */
  double             value, least, most; /* default and range of numbers */
  const char *const *names;              /* of an enumeration, as PetscOptionsEnum() wants them */
  unsigned int       flags;
  const char        *help;
} MuonParameter;

/* A row of a type or a part, with MUON_PARAMETER_DATA, and the kind without what is before it: REAL */
#define MUON_ROW(key, kind, Struct, field, value, least, most, names, flags, help) \
  { \
    key, MUON_PARAMETER_##kind, offsetof(Struct, field), value, least, most, names, MUON_PARAMETER_DATA | (flags), help \
  }

/* Rows of something that an object has beside its type, and the data that they are of, which the object's parameters own */
typedef struct {
  const MuonParameter *rows;
  PetscInt             count;
  void                *data;
} MuonParameterPart;

/* The member "parameters" of an object. rows[0] are those of its class, rows[1] those of its type or NULL; the parts stand between them */
typedef struct {
  const MuonParameter *rows[2];
  PetscInt             nparts;
  MuonParameterPart   *part;
  const char          *layer;         /* the layer it works for, borrowed: errors name it; NULL for none */
  const char          *family;        /* of this object alone, borrowed: "muon_layer_head_"; NULL for that of its class */
  const char          *variant;       /* borrowed: "adamw_learning_rate" of the parent is before its "learning_rate" unless auto; or NULL */
  PetscObject          parent, child; /* whose values are those that are not set here; the first object of which this is the parent */
  PetscObject          next, before;  /* of those with the same parent */
  PetscBool            known;         /* while keys behind the prefix are read: not the type, nor rows of the parent */
  PetscBool            fixed;         /* SetUp() was called: rows with MUON_PARAMETER_FIXED no longer change */
  PetscInt             nset;
  const char         **set;     /* keys that were set, by a call or an option */
  PetscOptions         waiting; /* keys that were given before the type that has them; NULL for none */
  PetscInt64           hashed;  /* the number of changes when hash was computed, 0 for never */
  unsigned int         hash;
} MuonParameters;

typedef PetscErrorCode MuonParameterObjectFn(PetscObject, void *);
/* The routine of a type that sets an object's operations, of the class's own kind of object */
typedef PetscErrorCode MuonParameterTypeFn(PetscObject);

/* What a class says of itself, once, in its InitializePackage(). Operations may be NULL */
typedef struct {
  const char          *family; /* what its keys begin with behind the prefix: "lmo_polar_" */
  const char          *type;   /* the key that selects a type; of objects with a family of their own behind that */
  const MuonParameter *rows;
  size_t               at, data, svd; /* offsets of the members "parameters", which stands behind the operations, and "data", and of a MuonSVD, 0 for none */
  PetscErrorCode (*setfromoptions)(PetscObject);
  PetscErrorCode (*changing)(PetscObject, const MuonParameter *, double value);           /* before a value changes: may refuse it; number rows have the value */
  PetscErrorCode (*children)(PetscObject, MuonParameterObjectFn *, void *ctx);            /* calls the routine for each object below this one, not for theirs */
  PetscErrorCode (*changingtext)(PetscObject, const MuonParameter *, const char value[]); /* before a text changes: may refuse it */
  PetscErrorCode (*changed)(PetscObject, const MuonParameter *);                          /* after any value was set: what follows from it */
  const char *(*heading)(PetscObject, const MuonParameter *);                             /* what -help prints above this row, NULL for nothing */
  PetscErrorCode (*create)(MPI_Comm, PetscObject *);                                      /* an object for MuonParametersListTypes() */
  PetscFunctionList *list;                                                                /* of types, destroyed with the class */
  size_t             traits, behind;                                                      /* offsets of the first member that a type sets, and of the one behind the last: zeros before */
  void (*finalize)(void);                                                                 /* at the end of PETSc */
} MuonParameterClass;

/* The id is 0 again at the end of PETSc. RegisterType, of NULL-terminated rows or NULL, is called by the Register() of a class; an empty type is a part */
PETSC_EXTERN PetscErrorCode MuonParametersRegisterClass(const char name[], PetscClassId *, const MuonParameterClass *);
PETSC_EXTERN PetscErrorCode MuonParametersRegisterType(PetscClassId, const char type[], const MuonParameter rows[]);

/* Gives an object so many bytes, zeros and the defaults of the rows, which all have MUON_PARAMETER_DATA; rows may be NULL */
PETSC_EXTERN PetscErrorCode MuonParametersAddPart(PetscObject, const MuonParameter rows[], size_t, void **data);
PETSC_EXTERN void          *MuonParametersPartData(PetscObject, const MuonParameter rows[]);

/* Create gives all fields of the class their defaults. Destroy frees, the type too */
PETSC_EXTERN PetscErrorCode MuonParametersCreate(PetscObject);
PETSC_EXTERN PetscErrorCode MuonParametersDestroy(PetscObject);
/*
   The two halves of a SetType(). Find gives NULL if the object has the type, and is an error if there is none of this name. Change does
   nothing for NULL. It frees the data and the MuonSVD of the old type; operations and traits become zeros; it calls the routine of the
   new one, gives the rows of this type their defaults, where they were not set, and applies what waited for the type
*/
PETSC_EXTERN PetscErrorCode MuonParametersFindType(PetscObject, const char type[], MuonParameterTypeFn **);
PETSC_EXTERN PetscErrorCode MuonParametersChangeType(PetscObject, const char type[], MuonParameterTypeFn *);

/*
   From now on what is not set has the values of the parent: of all rows, where that has the same class, else of those with
   MUON_PARAMETER_PARENT. They follow it at once, whatever sets it. NULL for none
*/
PETSC_EXTERN PetscErrorCode MuonParametersSetParent(PetscObject, PetscObject parent);
/* Whether the value is that of the parent's row of the same key; whether this object or a parent of its class was given one */
PETSC_EXTERN PetscBool MuonParametersIsInherited(PetscObject, const char key[]);
PETSC_EXTERN PetscBool MuonParametersIsGiven(PetscObject, const char key[]);
/* A number that the library chooses, without the checks of a setter; Choose leaves one that was set. It does not count as set */
PETSC_EXTERN PetscErrorCode MuonParametersPut(PetscObject, const char key[], double);
PETSC_EXTERN PetscErrorCode MuonParametersChoose(PetscObject, const char key[], double);

/* Before PetscObjectOptionsBegin() of an object that each rank has by itself: rank 0 prints -help */
PETSC_EXTERN PetscErrorCode MuonParametersHelpOnce(PetscObject);
/* Between PetscObjectOptionsBegin() and PetscOptionsEnd() */
PETSC_EXTERN PetscErrorCode MuonParametersSetFromOptions(PetscObject, MuonOptionItems);
/* Reads the rows with MUON_PARAMETER_SHARED behind this family, of all objects of the class */
PETSC_EXTERN PetscErrorCode MuonParametersSetShared(PetscObject, const char family[]);
/* For setters: checked as the option is. PETSC_CURRENT and NULL leave the value. The key is a row's */
PETSC_EXTERN PetscErrorCode MuonParametersAssign(PetscObject, const char key[], double value);
PETSC_EXTERN PetscErrorCode MuonParametersAssignText(PetscObject, const char key[], const char value[]);
/* Whether it was set; the row, NULL where the object has none of this key, and its field */
PETSC_EXTERN PetscBool            MuonParametersIsSet(PetscObject, const char key[]);
PETSC_EXTERN const MuonParameter *MuonParametersFind(PetscObject, const char key[], void **field);
PETSC_EXTERN MuonParameters      *MuonParametersOf(PetscObject);

/* What is not at its default, and what was set: one line each, "  ratio: 0.1" */
PETSC_EXTERN PetscErrorCode MuonParametersView(PetscObject, PetscViewer);
/* The type and all rows that ranks agree on, those of the objects below too: added to a CRC-32C. Computed again where an object has changed since */
PETSC_EXTERN PetscErrorCode MuonParametersHash(PetscObject, unsigned int *hash);
/*
   The same as text, a line each: "-lmo_polar_steps 5" or "layer head: -lmo_polar_steps 5", behind the text that
   is there, which is NULL for none; freed by the caller with PetscFree()
*/
PETSC_EXTERN PetscErrorCode MuonParametersWrite(PetscObject, char **text);

/* Reads the options of a tree of objects from this database alone, by the class's setfromoptions() */
PETSC_EXTERN PetscErrorCode MuonParametersReadFrom(PetscObject, PetscOptions);

/* All keys that registered classes and types have, family and key, with the type ("" of a class) */
typedef PetscErrorCode      MuonParameterKeyFn(const char family[], const char type[], const MuonParameter *, void *ctx);
PETSC_EXTERN PetscErrorCode MuonParametersForEach(MuonParameterKeyFn *, void *ctx);
/* The type of the object's class or of a class below whose row has this key, NULL for none */
PETSC_EXTERN const char *MuonParametersTypeOfKey(const char key[]);

/*
   "a, b or c" for errors: the types of a class that say of themselves that they can do something, by an enumeration, an integer or
   a PetscBool at this offset of an object that is not 0
*/
PETSC_EXTERN PetscErrorCode MuonParametersListTypes(PetscClassId, size_t at, size_t length, char names[]);
/*
   An error unless the object's type says so of itself, which names its key and the types that do: "-lmo_type l1 is of real matrices, expected
   spectral". layer is that of an object that does not know it, or NULL
*/
PETSC_EXTERN PetscErrorCode MuonParametersCheckType(PetscObject, size_t at, const char layer[], const char what[]);

/* Calls of the C library between Begin and End read and print numbers with a point, whatever the locale of the program */
typedef void               *MuonLocale;
PETSC_EXTERN PetscErrorCode MuonLocaleBegin(MuonLocale *);
PETSC_EXTERN PetscErrorCode MuonLocaleEnd(MuonLocale *);
/* The shortest text that reads as the same number, without the locale */
PETSC_EXTERN PetscErrorCode MuonNumberWrite(double, size_t, char[]);
PETSC_EXTERN PetscErrorCode MuonNumberRead(const char[], double *, PetscBool *ok);

/* Between the files of this component. Changes of what is hashed so far, from 1 on, of all objects of the program */
PETSC_INTERN PetscInt64 MuonParametersChanges_Private;
static inline PetscInt  MuonParametersCount_Private(const MuonParameters *parameters)
{
  return parameters->nparts + 2;
}
static inline const MuonParameter *MuonParametersRows_Private(const MuonParameters *parameters, PetscInt k)
{
  return k == 0 ? parameters->rows[0] : k <= parameters->nparts ? parameters->part[k - 1].rows : parameters->rows[1];
}
PETSC_INTERN const char               *MuonParameterFamily_Private(PetscObject, const MuonParameter *);
PETSC_INTERN const MuonParameterClass *MuonParametersClassOf_Private(PetscObject);
PETSC_INTERN const MuonParameter      *MuonParametersRowsOfType_Private(PetscObject);
PETSC_INTERN double                    MuonParameterGet_Private(const MuonParameter *, const void *field);
PETSC_INTERN void                     *MuonParameterField_Private(PetscObject, const MuonParameter *);
PETSC_INTERN PetscErrorCode            MuonParameterWrite_Private(PetscObject, const MuonParameter *, size_t, char[]);
PETSC_INTERN PetscErrorCode            MuonParametersWait_Private(PetscObject, const char key[], const char value[]);
