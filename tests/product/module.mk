# The finished thing, as users meet it: what the documents say, the command line, installations.
.PHONY: product-tests
product-tests: all client test-kernels $(VENV)/.ready-test ## documents run, command line, pip install; K=EXPRESSION
	@$(PYTHON) $(PYTEST) $(PARALLEL) tests/product
