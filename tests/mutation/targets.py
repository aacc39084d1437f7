"""Which modules are mutated, how many mutants of each are drawn, and which tests hold them."""

from dataclasses import dataclass

SEED = 2014
SOLVER = "tests/leml_solver/"
# Tests of blocks that run in this process; the others start processes, which see no mutant.
BLOCKED = tuple(
    f"{SOLVER}test_blocks.py::test_{name}"
    for name in (
        "the_tree_is_that_of_pairs_and_pairs_of_pairs",
        "blocks_with_a_scratch_folder_keep_their_scores_there",
        "what_a_block_keeps_is_let_go_before_its_successor_is_made",
        "products_with_x_are_counted",
        "blocks_in_single_precision_are_certified_in_double_precision",
        "large_blocks_are_certified_by_products_alone",
        "the_dual_point_stays_in_its_domain_in_every_block",
        "a_block_without_a_missing_label_stands_beside_others",
        "the_best_labels_come_block_by_block",
        "options_that_need_all_rows_are_refused",
        "entries_that_are_listed_and_weighted_fit_in_blocks",
        "blocks_give_the_fit_of_all_rows",
        "threads_and_storage_change_no_bit",
        "a_checkpoint_belongs_to_one_fit",
        "blocks_with_missing_labels_go_on_from_a_checkpoint",
    )
)
# Tests of estimators without scikit-learn's own checks, which take minutes.
ESTIMATED = tuple(
    f"{SOLVER}test_estimators.py::test_{name}"
    for name in (
        "a_sparse_matrix_is_full_and_predictions_are_sparse",
        "pandas_in_and_out",
        "signs_are_labels_too",
        "a_vector_of_classes",
        "probabilities_come_with_the_logistic_loss",
        "top_k_holds_a_block_only",
        "labels_never_observed_are_named",
        "bad_labels",
        "masks_are_checked",
        "regression_with_missing_targets",
        "weights_are_copies_of_rows",
        "the_penalty_of_weighted_rows_is_that_of_their_copies",
        "the_certificate_of_weighted_rows_counts_the_weights",
        "balanced_classes_find_rare_positives",
        "propensities_make_recorded_positives_count_more",
        "labels_of_one_class_have_nothing_to_balance",
        "accuracy_leaves_out_rows_without_a_class",
        "class_weights_of_a_vector_are_a_dict_of_numbers",
        "propensities_of_listed_labels_count_positives_only",
        "unbiased_labels_stay_dense_or_sparse",
        "a_threshold_that_predicts_as_many_labels_as_there_are",
    )
)
RANK_GAP = f"{SOLVER}test_rank_certificate.py::test_a_true_gap_is_left_open"
MEANS = f"{SOLVER}test_alternating.py::test_with_an_intercept_the_means_of_features_do_not_matter"
# Other tests of checkpoints start processes of their own, which see no mutant.
RESUMED = tuple(
    f"{SOLVER}test_blocks.py::test_a_checkpoint_{name}"
    for name in ("belongs_to_one_fit", "knows_the_entries_that_are_listed")
)


@dataclass(frozen=True)
class Target:
    """Number of mutants to draw from a module, and its tests, the quickest to kill first."""

    count: int
    tests: tuple[str, ...]


def _tests(*names: str) -> tuple[str, ...]:
    return tuple(f"{SOLVER}test_{name}.py" for name in names)


_DEFAULTS = tuple(
    f"{SOLVER}test_cross_validation.py::test_{name}"
    for name in (
        "the_default_penalty_is_the_pull_of_the_best_ridge_regression",
        "many_labels_give_the_penalty_of_the_gram_matrix",
        "defaults_do_not_depend_on_the_scale_of_the_features",
        "defaults_use_the_loss_the_kernel_and_missing_labels_as_they_are",
        "what_cannot_be_learnt_has_a_default_too",
        "rows_are_divided_by_their_norms_where_length_is_noise",
    )
)

TARGETS = {
    "leml_solver/_exact/certificate.py": Target(14, _tests("certificate")),
    "leml_solver/_exact/balls.py": Target(6, _tests("balls")),
    "leml_solver/_exact/faces.py": Target(20, _tests("faces", "steps")),
    "leml_solver/_exact/steps.py": Target(14, _tests("steps")),
    "leml_solver/_exact/search.py": Target(16, _tests("search", "erm")),
    "leml_solver/_exact/objective.py": Target(10, _tests("search", "erm")),
    "leml_solver/_exact/cvxpy_oracle.py": Target(4, _tests("search", "erm")),
    "leml_solver/_exact/minimise.py": Target(4, _tests("search", "erm")),
    "leml_solver/_exact/entry_loops.py": Target(6, _tests("problem")),
    "leml_solver/_factored/certificate.py": Target(
        26, (*_tests("factor_certificate", "missing_mask"), RANK_GAP)
    ),
    "leml_solver/_factored/rank_bound.py": Target(14, _tests("rank_certificate")),
    "leml_solver/_factored/rank_ascent.py": Target(14, _tests("rank_certificate")),
    "leml_solver/_factored/fit.py": Target(
        16, (*_tests("alternating", "updates", "rank_certificate", "splitting"), *RESUMED)
    ),
    "leml_solver/_factored/splitting.py": Target(16, _tests("splitting")),
    "leml_solver/_factored/checkpoint.py": Target(6, RESUMED),
    "leml_solver/_factored/plan.py": Target(2, _tests("alternating", "updates")),
    "leml_solver/_factored/algorithm_1.py": Target(10, _tests("tron_cg", "updates")),
    "leml_solver/_factored/algorithm_2.py": Target(12, (*_tests("tron_cg", "updates"), MEANS)),
    "leml_solver/_factored/cg.py": Target(2, _tests("tron_cg", "updates")),
    "leml_solver/_factored/tron.py": Target(10, _tests("tron_cg", "updates")),
    "leml_solver/_factored/entry_sums.py": Target(
        8, _tests("sparse_kernels", "tron_cg", "updates", "alternating")
    ),
    "leml_solver/_factored/closed_forms.py": Target(4, _tests("closed_forms")),
    "leml_solver/_factored/kernel_method.py": Target(4, _tests("kernel_extension")),
    "leml_solver/_linalg/compiled.py": Target(16, _tests("sparse_kernels", "updates")),
    "leml_solver/_linalg/conjugate_gradient.py": Target(16, _tests("tron_cg", "updates", "steps")),
    "leml_solver/_linalg/factors.py": Target(6, _tests("updates", "alternating")),
    "leml_solver/_linalg/matrices.py": Target(
        8,
        (
            f"{SOLVER}test_blocks.py::test_a_matrix_of_tiles_is_the_matrix",
            f"{SOLVER}test_blocks.py::test_threads_and_storage_change_no_bit",
            f"{SOLVER}test_hostile_files.py::test_blocks_with_sound_checksums_that_lead_out_of_bounds",
            *_tests("sparse_kernels", "updates", "alternating"),
        ),
    ),
    "leml_solver/_linalg/threads.py": Target(4, _tests("sparse_kernels", "updates")),
    "leml_solver/_blocked/block.py": Target(10, BLOCKED),
    "leml_solver/_blocked/certificate.py": Target(8, BLOCKED),
    "leml_solver/_blocked/fit.py": Target(4, BLOCKED),
    "leml_solver/_blocked/general.py": Target(8, BLOCKED),
    "leml_solver/_blocked/passes.py": Target(6, BLOCKED),
    "leml_solver/_blocked/problem.py": Target(4, BLOCKED),
    "leml_solver/_blocked/squared.py": Target(8, BLOCKED),
    "leml_solver/_estimation/blocks.py": Target(8, (*_tests("estimation", "metrics"), *ESTIMATED)),
    "leml_solver/_estimation/defaults.py": Target(
        10, (*_tests("estimation"), *_DEFAULTS, *ESTIMATED)
    ),
    "leml_solver/_estimation/scored.py": Target(
        8, (*_tests("estimation", "random_states", "array_gate"), *ESTIMATED)
    ),
    "leml_solver/_estimation/targets.py": Target(
        8, (*_tests("estimation", "array_gate", "random_states"), *ESTIMATED)
    ),
    "leml_solver/_estimation/weights.py": Target(10, (*_tests("array_gate"), *ESTIMATED)),
}

# Mutants that once survived and certified falsely: run whatever the seed draws.
ALWAYS = {
    (
        "leml_solver/_factored/certificate.py",
        "_repaired",
        "return np.asarray(u * np.where(y > 0, shrink[0][labels], shrink[1][labels]))",
        "return u",
        0,
    ),
}

# Compiled modules: their mutants are compiled afresh.
_LOOPS = ("_exact/entry_loops", "_linalg/compiled", "_estimation/blocks")
COMPILED = tuple(f"leml_solver/{name}.py" for name in _LOOPS)

# Constants of modules that choose between ways to the same answer, or how long a search tries
# before it takes another way: a certificate judges what comes out. Other tests try both ways.
SPEED = frozenset(
    {
        "_LARGEST_SYSTEM", "_LARGEST_BLOCKS",  # faces: factorise, or conjugate gradients
        "_GRAM_NUMBERS", "_SMALL_BLOCKS", "_WELL_CONDITIONED",  # objective: which model
        "_WARM_UP", "_BALANCINGS", "_SPLITTINGS", "_FIRST_GRADIENTS", "_MOST_GRADIENTS",  # search
        "_NEWTON_STEPS", "_LONGEST", "_NEWTON_CUT", "_NEWTON_FALL", "_LENGTHS", "_INNER_SHARE",
        "_DAMPING", "_PATIENCE",
        "_RIDGE", "_ACCURACY", "_MAX_PRODUCTS",  # steps
        "EXACT_SIDE", "EXACT_SIZE", "_BLOCK, _STEPS", "_SEARCH_STEPS",  # certificate of factors
        "_CHUNK", "_BLOCK", "_GRAM_ROWS", "FACTORISE_BELOW", "_SHRINKINGS",
        "_CACHED_ROWS", "_LONG_RUN", "_SHARED_ROWS", "_ENTRIES_PER_POINTER",  # matrices: tiles
        "WIDE_BYTES", "NARROW_BYTES", "_LINE_BYTES", "_NEAR_ROWS", "_AHEAD",  # compiled: panels
        "_VECTOR_BYTES", "_MANY_ENTRIES",
        "MAX_STEPS", "LARGEST_SIDE", "LARGEST_ARRAY", "_FREE_WORK", "_GENERAL_WORK",  # splitting
        "_FEWEST_STEPS",
        "SHARED_LOOP", "SHARED_PRODUCT",  # threads: when a second one pays
        "_PANEL_COLUMNS", "_THREADED",  # blocks: how many columns, and scores, go together
        "_LARGEST_DENSE", "_LONGEST_LIST",  # weights: up to where a matrix is made dense, or listed
    }
)  # fmt: skip
