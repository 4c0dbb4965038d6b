# Every program that the tests run. One line each, in the order of the README's table of tools.

from clients.program import Program
from clients.programs import openai_sdk

PROGRAMS: tuple[Program, ...] = (openai_sdk.PROGRAM,)
