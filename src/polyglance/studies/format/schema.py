"""The schema of study files: a paper's table as data.

A study trains recipes and evaluates them by retrieval, or, with `experiment`, measures something
else.
"""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, field_validator, model_validator

from polyglance.core.sections import Section
from polyglance.errors import PolyglanceError
from polyglance.evaluation.perturb.spec import Perturbation
from polyglance.recipes.schema import TranslationRecipe
from polyglance.recipes.v0_1_0 import is_old
from polyglance.studies.format.overrides import read_changes

COUNTED = {
    "words": "M word parameters",
    "all": "M parameters",
    "deployed": "M deployed",
    "epoch": "s per epoch",
    "memory": "GiB of memory",
    "used": "latent tokens",
    "shared": "% shared",
    "pairs": "% of pairs",
}

Figure = float | dict[str, float]
"""The paper's value in a column, or by x-value of the curve."""


class EvaluationSettings(Section):
    """What to evaluate on."""

    split: str = "test"
    kinds: list[str] | None = Field(None, description="caption kinds; null is each language's best")
    languages: list[str] | None = Field(None, description="null is those of the columns")
    folds: int = Field(
        1, ge=1, description="contiguous folds of the images to average over; 5 is COCO's 1K"
    )
    same_text: bool = Field(
        False,
        description="treat equal captions as one of all their images, as in HGR's code",
    )

    @model_validator(mode="after")
    def _whole(self) -> "EvaluationSettings":
        if self.same_text and self.folds > 1:
            raise ValueError("'same_text' needs a single fold")
        return self


class RowEvaluation(Section):
    """Evaluation settings of a row that differ from the study's."""

    kinds: list[str] | None = None
    languages: list[str] | None = Field(None, description="fill only these columns")
    translation: TranslationRecipe | None = Field(
        None, description="CLC-A, CLC-C, or to one language; null is the recipe's"
    )


class MachineCaptions(Section):
    """Captions translated from an image's, to evaluate on instead of human ones."""

    translator: str = Field(description="as for 'data translate'; $data is the study's dataset")
    language: str = Field("en", description="translated from")
    kinds: list[str] = Field(["independent", "translation"], description="captions translated")


def _read(value: Any) -> Any:
    try:
        return read_changes(value)
    except PolyglanceError as error:
        raise ValueError(str(error)) from None


Overrides = Annotated[dict[str, Any], BeforeValidator(_read)]


class Changes(Section):
    """A section with overrides: a mapping, dotted or nested, or `[path=value, …]`.

    They change a recipe, or an experiment's settings; `settings` is another name for them.
    """

    overrides: Overrides = Field({}, validation_alias=AliasChoices("overrides", "settings"))


class Training(Changes):
    """One of several trainings of a row."""

    recipe: str | None = Field(None, description="null is the row's")
    languages: list[str] | None = Field(None, description="the columns to fill; [*] is all")


class Row(Changes):
    """A row of the table: a recipe with changes, or several, each for some languages."""

    name: str = Field(min_length=1, description="unique; claims and comparisons use it")
    label: str = Field("", description="what the table shows; by default the name")
    note: str = ""
    recipe: str | None = None
    runs: list[Training] = Field([])
    ensemble: list[str] = Field(
        [],
        description="names of rows whose scores are averaged instead of a training; a repeated "
        "row takes part with its next seed",
    )
    each: list[str] = Field(
        [],
        description="one run per language ($language), * for those not listed, !en for all but en; "
        "in a measured study one per value ($each)",
    )
    evaluation: RowEvaluation = RowEvaluation()
    paper: dict[str, Figure] | list[float | None] = Field(
        {}, description="by column, or all in the columns' order"
    )
    baseline: bool = Field(False, description="compare the rows of its section with it")
    compare_to: str | None = None
    curve: bool = Field(True, description="false if the row does not depend on the curve's x")
    by_profile: dict[str, Overrides] = Field(
        {}, description="further overrides in a profile, such as the paper's feature for this row"
    )

    @property
    def title(self) -> str:
        return self.label or self.name

    @model_validator(mode="after")
    def _one_source(self) -> "Row":
        if self.runs and self.each:
            raise ValueError("use 'runs' or 'each', not both")
        if self.ensemble and (self.recipe or self.runs or self.each or self.overrides):
            raise ValueError("an ensemble trains nothing: it has no recipe, runs or overrides")
        if len(self.ensemble) == 1:
            raise ValueError("an ensemble needs at least two rows")
        return self

    @property
    def has_recipe(self) -> bool:
        """Whether its trainings, or those of an ensemble's rows, have recipes."""
        trained = self.recipe or (self.runs and all(run.recipe for run in self.runs))
        return bool(trained or self.ensemble)


class TableSection(Section):
    """Rows under a common heading."""

    title: str
    note: str = ""
    rows: list[Row] = Field(min_length=1)


class Column(Section):
    """A number per row. `language: "*"` stands for every language without a column of its own.

    In a measured study it is a `measure` of the experiment, in which `$row` is the row's name.
    """

    name: str = Field("", description="by default from language, direction and metric")
    language: str | None = None
    average: Literal["human", "all"] | None = None
    metric: Literal["r1", "r5", "r10", "medr", "mr", "rsum"] = "mr"
    direction: Literal["i2t", "t2i"] | None = None
    kinds: list[str] | None = Field(None, description="null is the row's, then the study's")
    machine: MachineCaptions | None = Field(
        None, description="evaluate on captions made by a translator, of kind machine"
    )
    perturb: str | None = Field(
        None, description="perturb the queries first, such as typos:0.2; needs direction t2i"
    )
    folds: int | None = Field(None, ge=1, description="null is the study's")
    change: bool = Field(False, description="show the change caused by 'perturb', not the result")
    parameters: Literal["words", "all", "deployed"] | None = Field(
        None,
        description="millions of parameters: of the word layer, of the model, or of the deployed "
        "model with precomputed word vectors",
    )
    cost: Literal["epoch", "memory"] | None = Field(
        None, description="of training: seconds per epoch, or peak memory in GiB"
    )
    tokens: Literal["used", "shared", "pairs"] | None = Field(
        None,
        description="latent tokens used, % of them shared by several languages, or % of a "
        "lexicon's word pairs with the same token",
    )
    measure: str | None = None
    unit: str = Field("", description="of a measure; columns of one unit share an axis")
    table: str = Field("", description="columns with the same name form a separate table")
    better: Literal["higher", "lower"] = "higher"
    digits: int = Field(1, ge=0, le=9, description="decimals shown")

    @model_validator(mode="after")
    def _complete(self) -> "Column":
        kinds = {"measure": "a measure has", "parameters": "parameters have", "cost": "a cost has"}
        kinds["tokens"] = "tokens have"
        for name, have in kinds.items():
            if getattr(self, name) is not None:
                if self.language or self.average or self.direction or self.perturb or self.machine:
                    raise ValueError(f"{have} no 'language', 'average' or 'direction'")
                return self
        if (self.language is None) == (self.average is None):
            raise ValueError("use either 'language' or 'average'")
        both = self.metric in ("mr", "rsum")
        if both and self.direction:
            raise ValueError(f"{self.metric} is over both directions; leave out 'direction'")
        if not both and not self.direction:
            raise ValueError(f"{self.metric} needs 'direction', i2t or t2i")
        if self.perturb is not None and self.direction != "t2i":
            raise ValueError("'perturb' changes queries: the direction is t2i")
        if self.machine is not None and self.kinds is not None:
            raise ValueError("'machine' makes captions of one kind; leave out 'kinds'")
        if self.change and self.perturb is None:
            raise ValueError("'change' needs 'perturb'")
        return self

    @field_validator("perturb")
    @classmethod
    def _known_perturbation(cls, value: str | None) -> str | None:
        try:
            return None if value is None else str(Perturbation.parse(value))
        except PolyglanceError as error:
            raise ValueError(str(error)) from None

    @property
    def title(self) -> str:
        if self.counted:
            return self.name or self.shown
        return self.name or self.measure or f"{self.language or self.average} {self.shown}"

    @property
    def counted(self) -> bool:
        """Whether it is a property of the model or its training, which is shown but not tested."""
        return bool(self.parameters or self.cost or self.tokens)

    @property
    def shown(self) -> str:
        """What is measured: a measure's unit, or direction and metric as in papers."""
        if self.measure is not None:
            return self.unit
        if counted := self.parameters or self.cost or self.tokens:
            return COUNTED[counted]
        arrow = {"i2t": "I→T ", "t2i": "T→I ", None: ""}[self.direction]
        names = {"r1": "R@1", "r5": "R@5", "r10": "R@10", "medr": "medR", "mr": "mR"}
        text = arrow + names.get(self.metric, self.metric)
        if self.perturb is None:
            return text
        return f"{text} with {self.perturb}{', change' if self.change else ''}"


class CurveSettings(Section):
    """Every row is trained at each x, for the curves of a figure."""

    path: str = Field(description="the recipe's field on the x axis")
    values: list[int | float | str] = Field(min_length=1)
    label: str = ""
    log: bool = False
    log_y: bool = False


class Scatter(Section):
    """A point per row: one column against another, such as recall against parameters."""

    x: str = Field(description="title of a column")
    y: list[str] = Field(min_length=1, description="titles of columns; each is a panel")
    log: bool = Field(True, description="x in powers of ten")
    paper: bool = Field(False, description="also show the paper's points, as diamonds")


class Lines(Section):
    """A line per section, through rows with labels that all sections have."""

    label: str = Field(description="what changes from row to row")
    y: list[str] = Field(min_length=1, description="titles of columns; each is a panel")


class Claim(Section):
    """A statement of the paper, and its comparisons, such as `a > b`.

    They are between rows, over some columns, or between columns, over some rows. In column names
    `*` stands for the same words on both sides.
    """

    text: str
    compare: list[str] = Field([], description="'row > row', or with >=, < or <=")
    columns: list[str] | None = Field(
        None, description="wildcards of columns to compare rows in; null is all that both fill"
    )
    compare_columns: list[str] = Field([], description="'column > column', such as '* a < * b'")
    rows: list[str] | None = Field(None, description="rows to compare columns in; null is all")
    margin: float | None = Field(
        None,
        gt=0,
        description="of 'as good as' (>=, <=): the largest acceptable loss, in the columns' unit, "
        "fixed before the runs; without it only 'better' can be shown",
    )
    note: str = Field("", description="what a reader must know to interpret the verdict")

    @model_validator(mode="after")
    def _one_way(self) -> "Claim":
        if bool(self.compare) == bool(self.compare_columns):
            raise ValueError("use either 'compare' or 'compare_columns'")
        if self.rows is not None and self.compare:
            raise ValueError("'rows' needs 'compare_columns'")
        if self.columns is not None and self.compare_columns:
            raise ValueError("'columns' needs 'compare'")
        weak = any("=" in text or "≥" in text or "≤" in text for text in self.compared)
        if self.margin is not None and not weak:
            raise ValueError("'margin' needs '>=' or '<='")
        return self

    @property
    def compared(self) -> list[str]:
        """Its comparisons, of rows or of columns."""
        return self.compare or self.compare_columns


class Profile(Changes):
    """A size at which to run the whole study."""

    note: str = Field("", description="shown in the report: sizes, and how they differ")
    seeds: int = Field(3, ge=1)
    rows: dict[str, Overrides] = Field({}, description="further overrides by wildcard of row names")
    fewer_seeds: dict[str, int] = Field(
        {},
        # Called `few` in version 0.1.0.
        validation_alias=AliasChoices("fewer_seeds", "few"),
        description="fewer seeds for long runs, by wildcard of row names",
    )
    x: list[int | float | str] | None = Field(None, description="the curve's values here")
    folds: int | None = Field(
        None, ge=1, description="contiguous folds of the images here; null is the study's"
    )
    sizes: dict[str, int] = Field(
        {}, description="images of each split in the paper, which --plan compares the data with"
    )

    @field_validator("fewer_seeds")
    @classmethod
    def _at_least_one(cls, value: dict[str, int]) -> dict[str, int]:
        if any(count < 1 for count in value.values()):
            raise ValueError("a row needs at least one seed")
        return value


class Study(Changes):
    """A paper's table or figure."""

    title: str
    experiment: str | None = Field(None, description="what is measured; null is retrieval")
    paper: str
    note: str = ""
    profiles: dict[str, Profile] = Field(min_length=1)
    evaluation: EvaluationSettings = EvaluationSettings()
    columns: list[Column] = Field(min_length=1)
    rows: list[Row] = Field([])
    sections: list[TableSection] = Field([])
    curve: CurveSettings | None = None
    scatter: Scatter | None = None
    lines: Lines | None = None
    claims: list[Claim] = Field([])
    sizes: dict[str, int] | None = Field(
        None, description="images of each split in the paper; null is the profile's, {} unknown"
    )
    sources: dict[str, Training] = Field(
        {}, description="models that are trained first, for rows with transfer.source=source:NAME"
    )

    @model_validator(mode="after")
    def _rows_or_sections(self) -> "Study":
        if bool(self.rows) == bool(self.sections):
            raise ValueError("use either 'rows' or 'sections'")
        return self

    @model_validator(mode="after")
    def _one_kind(self) -> "Study":
        measured = self.experiment is not None
        if all(column.counted for column in self.columns):
            raise ValueError(
                "all columns are parameters or costs, so nothing is evaluated: add another column"
            )
        for column in self.columns:
            if measured != (column.measure is not None):
                need = "a 'measure'" if measured else "an 'experiment' beside its 'measure'"
                raise ValueError(f"column '{column.title}' needs {need}")
        for row in self.all_rows:
            if measured == row.has_recipe:
                how = "has a recipe, but the study measures" if measured else "has no recipe"
                raise ValueError(f"row '{row.name}' {how}")
        return self

    @property
    def parts(self) -> list[TableSection]:
        """The sections; a single one without a title if the study has plain rows."""
        return self.sections or [TableSection(title="", rows=self.rows)]

    @property
    def all_rows(self) -> list[Row]:
        return [*self.rows, *(row for part in self.sections for row in part.rows)]

    @property
    def is_v0_1_0(self) -> bool:
        """Whether any overrides, and so the recipes, are in the form of version 0.1.0."""
        trainings = [run for row in self.all_rows for run in row.runs]
        every = [self, *self.profiles.values(), *self.sources.values(), *self.all_rows, *trainings]
        return any(is_old(one.overrides) for one in every)

    @property
    def steps(self) -> list[str]:
        """Labels of rows that every section has, in the order of the first."""
        shared = set.intersection(*({row.title for row in part.rows} for part in self.parts))
        return [row.title for row in self.parts[0].rows if row.title in shared]

    @property
    def runnable(self) -> list[str]:
        """Names of rows and sources for use in profiles."""
        return [*(row.name for row in self.all_rows), *(f"source {one}" for one in self.sources)]

    def row(self, name: str) -> Row:
        return next(row for row in self.all_rows if row.name == name)

    @property
    def labels(self) -> dict[str, str]:
        """Row names in texts and legends; preceded by the section if labels repeat."""
        titles = [row.title for row in self.all_rows]
        found = {}
        for part in self.parts:
            prefix = part.title.partition(":")[0]
            for row in part.rows:
                twice = titles.count(row.title) > 1
                full = f"{prefix}: {row.title}" if prefix else row.name
                found[row.name] = full if twice else row.title
        return found

    def reference(self, row: Row) -> str | None:
        """The row that `row` is compared with: its own choice, or a baseline."""
        if row.compare_to or row.baseline:
            return row.compare_to
        own = next(part for part in self.parts if row in part.rows).rows
        found = [other.name for other in (*own, *self.all_rows) if other.baseline]
        return found[0] if found else None
