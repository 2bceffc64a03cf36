"""Pure: payloads that something else wrote -> which key says what -> our own words."""
