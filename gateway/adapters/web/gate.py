"""The door of the web chat: the link's token becomes a cookie, and without the cookie nothing is served."""

import hashlib
import hmac

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

COOKIE_SECONDS = 180 * 24 * 3600

PAGE = """<!doctype html>
<html lang="zh">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{head}
<title>Paigate</title>
</head>
<body>
{body}
</body>
</html>
"""

# A redirect would be part of the foreign navigation that opened the link, and would not carry a strict cookie.
ENTER = PAGE.format(
    head='<meta http-equiv="refresh" content="0;url=/">',
    body='<p><a href="/">Paigate</a></p>',
)

REFUSED = PAGE.format(
    head="",
    body=(
        "<h1>Paigate</h1>\n"
        "<p>请打开 <code>paigate up</code> 打印的链接。</p>\n"
        '<p lang="en">Please open the link that <code>paigate up</code> printed.</p>'
    ),
)


class Gate:
    """ASGI middleware that lets the holder of `token` in. `port` keeps apart instances on one host."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._cookie = f"paigate_{port}"
        # The token itself stays out of the browser's store.
        self._pass = hmac.new(self._token, b"paigate web cookie", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request with a token in, pass one with the cookie on, refuse any other with 403."""
        request = Request(scope, receive)
        offered = request.query_params.get("token")
        if offered is not None and request.method == "GET":
            response = self._enter(request) if hmac.compare_digest(offered.encode(), self._token) else _refuse()
            await response(scope, receive, send)
        elif hmac.compare_digest(request.cookies.get(self._cookie, "").encode(), self._pass.encode()):
            await self._app(scope, receive, send)
        else:
            await _refuse()(scope, receive, send)

    def _enter(self, request: Request) -> Response:
        response = HTMLResponse(ENTER, headers={"Cache-Control": "no-store"})
        response.set_cookie(
            self._cookie,
            self._pass,
            max_age=COOKIE_SECONDS,
            path="/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return response


def _refuse() -> Response:
    return HTMLResponse(REFUSED, status_code=403, headers={"Cache-Control": "no-store"})
