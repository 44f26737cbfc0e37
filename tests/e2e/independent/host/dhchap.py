"""DH-HMAC-CHAP."""

from entries import Failed


async def authenticate(controller, connection):
    raise Failed("the controller asks for authentication")
