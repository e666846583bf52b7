"""One module for each command of ``adhere``; ``scanner.cli.COMMANDS`` lists them."""
