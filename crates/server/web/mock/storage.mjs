// Object storage for the tests of uploads that go straight there: takes pieces from pages of another origin.
import { createServer } from "node:http";

/** Starts it. `exposes: false` keeps the ETag from pages, as a bucket without that CORS rule does. */
export async function startStorage({ pieceBytes = 5_000_000, exposes = true } = {}) {
  const storage = { uploads: new Map(), pieceBytes, /** Answers to the next pieces: a status, or "break". */ faults: [], puts: 0, most: 0, under: 0, hold: null };
  const server = createServer(async (request, response) => {
    const cors = { "access-control-allow-origin": request.headers.origin ?? "*", "access-control-allow-methods": "PUT", ...(exposes ? { "access-control-expose-headers": "ETag" } : {}) };
    if (request.method === "OPTIONS") return response.writeHead(200, cors).end();
    const url = new URL(request.url, "http://storage");
    const upload = storage.uploads.get(url.pathname.split("/").pop());
    const number = Number(url.searchParams.get("partNumber"));
    storage.puts++;
    storage.most = Math.max(storage.most, ++storage.under);
    const parts = [];
    try {
      for await (const part of request) parts.push(part);
    } catch {
      // The page has broken off.
    }
    if (storage.hold && number > 1) await storage.hold;
    storage.under--;
    const fault = storage.faults.shift();
    if (fault === "break") return request.socket.destroy();
    if (fault) return response.writeHead(fault, cors).end("<Error/>");
    if (!upload) return response.writeHead(404, cors).end("<Error/>");
    upload.parts.set(number, Buffer.concat(parts));
    response.writeHead(200, { ...cors, etag: `"etag-${number}"` }).end();
  });
  storage.begin = (name, length) => {
    const id = (storage.uploads.size + 1).toString(16).padStart(32, "0");
    const pieces = Math.max(1, Math.ceil(length / storage.pieceBytes));
    storage.uploads.set(id, { name, length, parts: new Map(), completion: null });
    return { id, pieceBytes: storage.pieceBytes, pieces };
  };
  /** The bytes of an upload, in order. */
  storage.bytes = (upload) => Buffer.concat([...upload.parts].sort(([a], [b]) => a - b).map(([, part]) => part));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  storage.url = `http://127.0.0.1:${server.address().port}`;
  storage.close = () => (server.closeAllConnections(), new Promise((done) => server.close(done)));
  return storage;
}
