# make demo   from nothing to an HTML report on the shipped sample, in .venv, with nothing to set up
# make test   everything CI checks: ruff, mypy, pytest
# make lock   the locks again from pyproject.toml and requirements/ (needs uv)
# make recording  the answers of the embedded model that tests replay
# make docs   the parts of README.md that are generated
# make clean  away with .venv, caches and what the demo made

.PHONY: demo test docs recording lock clean
run := .venv/bin/python

demo: .venv/demo.ok
	$(run) examples/demo.py

# All three run, so that one go shows all that is wrong; pytest last, for its closing line.
test: .venv/tests.ok
	@failed=; \
	$(run) -m ruff check . || failed="$$failed ruff"; \
	$(run) -m mypy || failed="$$failed mypy"; \
	$(run) -m pytest -n 2 || failed="$$failed pytest"; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

docs: .venv/tests.ok
	$(run) docs/tree.py

recording: .venv/tests.ok
	$(run) -m tests.recorded.make

.venv/demo.ok: pyproject.toml requirements/demo.lock requirements/install
	@requirements/install demo && touch $@

.venv/tests.ok: pyproject.toml requirements/tests.lock requirements/torch.txt requirements/install
	@requirements/install tests && touch $@ .venv/demo.ok

compile := uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --excludes requirements/unused.txt pyproject.toml requirements/packaged.in
lock:
	$(compile) --excludes requirements/tests-only.txt -o requirements/demo.lock
	$(compile) --excludes requirements/torch.txt -c requirements/demo.lock --all-extras -o requirements/tests.lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis demo runs *.egg-info build dist
