"""Find mentions of patients in text: names, birth dates, numbers, street addresses and e-mail addresses."""
