import os

PORT = 8000
NAME = os.environ["NAME"]
