"""The routes of the page: each checks what came, asks the workbench or the uploads, and answers in JSON."""

import asyncio
import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote

from anyio import to_thread
from fastapi import FastAPI, Query, Request
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from custext_sql import CusTextError
from custext_sql.playground.requests import (
    MOST_CHARACTERS,
    AttackRequest,
    DrawnRequest,
    PreviewRequest,
    ReleaseRequest,
    SettingsRequest,
    TextRequest,
    WordRequest,
)
from custext_sql.playground.snippets import write_snippets
from custext_sql.playground.uploads import MOST_BYTES, Uploads
from custext_sql.playground.workbench import Workbench

PAGE = Path(__file__).parent / "page"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_TEXTS = 4  # requests at a time: the work is arithmetic, so more threads would only wait for each other
_FILES = 2  # the same; texts do not wait for files, which take longer
_LEFT = 499  # the status of an answer that nobody reads
_CHUNK = 1 << 18  # bytes
_FileId = Annotated[str, PathParameter(pattern="^[0-9a-f]{16}$")]
_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"description": "a message about what is wrong"},
    403: {"description": "not from the page"},
    413: {"description": "too large"},
    422: {"description": "values of other types"},
}
_BYTES = "application/octet-stream"
_FILE: dict[int | str, dict[str, Any]] = {200: {"description": "the sanitized file", "content": {_BYTES: {}}}}


class _Desk:
    """Does the work of requests in threads, a few at a time. A waiting request whose client has left is dropped."""

    def __init__(self, seats: int) -> None:
        self._seats = asyncio.Semaphore(seats)

    async def answer(self, request: Request, work: Callable[..., dict[str, Any]], *asked: Any) -> Response:
        """Return what the work found, as JSON."""
        async with self._seats:
            if await request.is_disconnected():  # the page asks again whenever a slider moves
                return Response(status_code=_LEFT)
            return await to_thread.run_sync(lambda: _answer(work(*asked)))


def make_application(workbench: Workbench, uploads: Uploads) -> FastAPI:
    """Return the application that answers the page."""
    app = FastAPI(
        title="custext playground",
        docs_url=None,  # they would load scripts from another host
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,
        responses=_ERRORS,
    )
    _add_errors(app)
    _add_page(app)
    _add_texts(app, workbench)
    _add_files(app, uploads)
    return app


def _add_page(app: FastAPI) -> None:
    files = {path.name: path for path in PAGE.iterdir() if path.suffix in _TYPES}

    @app.get("/", include_in_schema=False)
    @app.get("/page/{name}", include_in_schema=False)
    def show(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in files:
            raise HTTPException(404)
        return FileResponse(files[name], media_type=f"{_TYPES[files[name].suffix]}; charset=utf-8")


def _add_texts(app: FastAPI, workbench: Workbench) -> None:
    desk = _Desk(_TEXTS)

    @app.get("/api/setup")
    async def setup(request: Request) -> Response:
        limits = {"characters": MOST_CHARACTERS, "bytes": MOST_BYTES}
        return await desk.answer(request, lambda: workbench.describe() | {"limits": limits})

    @app.post("/api/sanitize")
    async def sanitize(asked: TextRequest, request: Request) -> Response:
        return await desk.answer(request, workbench.sanitize, asked)

    @app.post("/api/inspect")
    async def inspect(asked: WordRequest, request: Request) -> Response:
        return await desk.answer(request, workbench.inspect, asked)

    @app.post("/api/attack")
    async def attack(asked: AttackRequest, request: Request) -> Response:
        return await desk.answer(request, workbench.attack, asked)

    @app.post("/api/verdict")
    async def verdict(asked: DrawnRequest, request: Request) -> Response:
        return await desk.answer(request, workbench.judge, asked)

    @app.post("/api/snippets")
    async def snippets(asked: SettingsRequest) -> Response:
        return _answer(write_snippets(asked, workbench.database))


def _add_files(app: FastAPI, uploads: Uploads) -> None:
    desk = _Desk(_FILES)

    @app.post("/api/files")
    async def receive(request: Request, name: Annotated[str, Query(min_length=1, max_length=255)]) -> Response:
        file_id = await uploads.receive(name, request.stream())
        answer = await desk.answer(request, uploads.describe, file_id)
        if answer.status_code == _LEFT:
            uploads.delete(file_id)
        return answer

    @app.post("/api/files/{file_id}/preview")
    async def preview(file_id: _FileId, asked: PreviewRequest, request: Request) -> Response:
        return await desk.answer(request, uploads.preview, file_id, asked)

    @app.post("/api/files/{file_id}/release")
    async def release(file_id: _FileId, asked: ReleaseRequest, request: Request) -> Response:
        return await desk.answer(request, uploads.release, file_id, asked)

    @app.get("/api/files/{file_id}/output", responses=_FILE, response_class=StreamingResponse)
    def download(file_id: _FileId) -> Response:
        name, size, file = uploads.open_output(file_id)
        headers = {"content-length": str(size), "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
        return StreamingResponse(_read_chunks(file), headers=headers, media_type=_BYTES)

    @app.delete("/api/files/{file_id}")
    async def delete(file_id: _FileId) -> Response:
        uploads.delete(file_id)
        return _answer({})


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(CusTextError)
    def explain(_: Request, error: Exception) -> Response:
        return _answer({"error": str(error)}, 400)

    @app.exception_handler(RequestValidationError)
    def explain_types(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        parts = [part for part in first["loc"][1:] if isinstance(part, str) and part.isidentifier()]
        message = str(first["msg"])
        message = message if message.startswith("JSON") else message[:1].lower() + message[1:]
        return _answer({"error": f"{'.'.join(parts) or 'the request'}: {message}"}, 422)

    @app.exception_handler(HTTPException)
    def explain_status(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _answer({"error": str(error.detail)}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    def apologize(_: Request, error: Exception) -> Response:
        place = traceback.extract_tb(error.__traceback__)[-1]  # its message may quote a text
        where = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
        return _answer({"error": f"this is a bug of custext-sql; please report it: {where}"}, 500)


def _read_chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _answer(found: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(found, allow_nan=False), status, headers, media_type="application/json")
