#!/usr/bin/env bash
# build/site: the documentation, and a page that runs the engine in the browser (try/). It can be put on any server for files, under any
# path; nothing in it is loaded from elsewhere. Needs Node.js and Python, not TensorFlow.
source "$(dirname "$0")/lib.sh"

scripts/node.sh && scripts/setup.sh dev || exit 1
key=$(key_of website/requirements.txt)
if ! is_done .venv-site/.made "$key"; then
    say "Installing what writes the site in .venv-site …"
    make_venv "$(.venv/bin/python -c 'import sys; print(sys.executable)')" .venv-site
    .venv-site/bin/python -m pip install --quiet --requirement website/requirements.txt </dev/null || fail "pip could not install it"
    mark_done .venv-site/.made "$key"
fi

rm -rf build/site build/site-wheel
mkdir -p build/site-wheel
.venv/bin/python -m hatchling build -t wheel -d build/site-wheel >build/site.log 2>&1 || { cat build/site.log; fail "the wheel did not build"; }
version=$(.venv/bin/python -c 'import re, pathlib; print(re.search(r"__version__ = \"(.*)\"", pathlib.Path("server/horovodize/__init__.py").read_text())[1])')
(cd website && node esbuild.mjs ../build/site-wheel/horovodize-*.whl "$version") || fail "the page that runs the engine did not build"
.venv-site/bin/python website/stage.py build/site-pages || fail "the pages could not be laid out"
cp -r build/try build/site-pages/try
NO_MKDOCS_2_WARNING=1 .venv-site/bin/python -m mkdocs build --config-file website/mkdocs.yml </dev/null >build/site.log 2>&1 ||
    { cat build/site.log; fail "mkdocs found something wrong"; }
rm -f build/site/sitemap.xml build/site/sitemap.xml.gz # they name a place on a server, which isn't known
say "build/site: $(find build/site -name '*.html' | wc -l) pages, $(du -sm build/site | cut -f1) MB. To look at it: python3 -m http.server --directory build/site"
