# The demo: real input through the whole of kernrig, without PyTorch.
.PHONY: demo
demo: all client $(VENV)/.ready ## read 1,797 handwritten digits with a network run by kernrig's kernels
	@$(PYTHON) demo/digits.py
