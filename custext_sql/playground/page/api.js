// Requests to the server on this machine. Every one carries the token, which came behind the # of the address.

const TOKEN = "custext-token";
const HEADER = "X-Custext-Token";
const SENDABLE = /^[\x21-\x7e]*$/; // in a header

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export function readToken() {
  return localStorage.getItem(TOKEN);
}

export function keepToken(token) {
  localStorage.setItem(TOKEN, token);
}

async function send(method, path, { body, type, signal } = {}) {
  const token = readToken() ?? "";
  const headers = { [HEADER]: SENDABLE.test(token) ? token : "" };
  if (type) headers["Content-Type"] = type;
  let response;
  try {
    response = await fetch(path, { method, headers, body, signal, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer. Is custext playground still running?", 0);
  }
  if (response.ok) return response;
  const found = await response.json().catch(() => ({}));
  throw new ApiError(found.error ?? `The server answered with status ${response.status}.`, response.status);
}

export async function get(path) {
  return (await send("GET", path)).json();
}

export async function post(path, value, signal) {
  return (await send("POST", path, { body: JSON.stringify(value), type: "application/json", signal })).json();
}

export async function upload(file) {
  const path = `/api/files?name=${encodeURIComponent(file.name)}`;
  return (await send("POST", path, { body: file, type: "application/octet-stream" })).json();
}

export async function download(path) {
  return (await send("GET", path)).blob();
}

export async function remove(path) {
  await send("DELETE", path);
}

// Of several requests of one kind, only the last one counts: the ones before are aborted.
export class Latest {
  #controller = null;

  async post(path, value) {
    this.#controller?.abort();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    try {
      return await post(path, value, signal);
    } catch (error) {
      if (error.name === "AbortError") return null;
      throw error;
    }
  }

  abort() {
    this.#controller?.abort();
  }
}
