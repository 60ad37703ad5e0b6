"""How options name a translator."""

TRANSLATOR = (
    "lexicon:FILE, file:FILE, captions:DATASET, hf:FOLDER, ctranslate2:FOLDER, argos or http://…"
)
