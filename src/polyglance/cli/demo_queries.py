"""The demo's queries in many languages, for `data.photographs` and for any images."""

PHOTO_QUERIES = (
    ("en", "a cat looking at the camera", "cat"),
    ("de", "eine Tasse Kaffee auf einem Holztisch", "coffee"),
    ("fr", "une fusée qui décolle dans la nuit", "rocket"),
    ("es", "una flor", "flower"),
    ("zh", "一只猫", "cat"),
    ("ar", "امرأة تبتسم", "astronaut"),
    ("hi", "एक फूल", "flower"),
    ("cs", "muž fotografuje venku", "camera"),
    ("pt", "um homem com uma câmera", "camera"),
    ("uk", "зелена трава", "grass"),
    ("ja", "猫", "cat"),
    ("ko", "커피 한 잔", "coffee"),
    ("ru", "цветок", "flower"),
    ("it", "un gatto", "cat"),
    ("nl", "een kopje koffie", "coffee"),
    ("pl", "start rakiety", "rocket"),
    ("tr", "bir çiçek", "flower"),
    ("th", "แมว", "cat"),
)
"""Language, query, and the photo that it describes."""

GENERAL_QUERIES = (
    ("en", "people laughing together"),
    ("de", "ein Hund draußen"),
    ("fr", "des enfants qui jouent"),
    ("es", "la playa y el mar"),
    ("zh", "一个人在骑自行车"),
    ("ar", "رجل يركض"),
    ("hi", "पानी में एक लड़का"),
    ("cs", "auto na ulici"),
    ("pt", "comida em cima da mesa"),
    ("uk", "гори взимку"),
    ("ja", "花"),
    ("it", "un gatto"),
)
"""Queries for any images."""
