"""What a result says of one question."""


def points(result, question):
    return sum(entry.points for entry in result.outcomes if entry.question == question)


def messages(result, question):
    found = [entry for entry in result.outcomes if entry.question == question]
    return [entry.message for entry in found if entry.message]
