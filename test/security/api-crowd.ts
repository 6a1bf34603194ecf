/** Strangers of the HTTP API in a process of their own: many connections from several addresses, each with one of the ways to be a burden. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const [port = "0", count = "0"] = process.argv.slice(2);
const addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
/** Open at once while the crowd gathers: the kernel's queue of a listening socket is short. */
const openingMax = 100;
const pipeline = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(200);
/** What each sends after it is connected. */
const ways = [
  () => "",
  () => "GET /events HTTP/1.1\r\nHost: a\r\nX-Long",
  () => "POST /login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
  () => pipeline,
  () => "\x16\x03\x01\x02\x00\x01\x00",
] as const;

const sockets: Socket[] = [];
let [next, opened] = [0, 0];

/** Resolves when the connection is open, or closed before. */
async function enter(number: number): Promise<void> {
  const localAddress = addresses[number % addresses.length];
  const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress });
  sockets.push(socket);
  socket.on("error", () => {
    // The close event follows.
  });
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  opened += 1;
  // Nothing that comes is read.
  socket.pause();
  socket.write(ways[number % ways.length]?.() ?? "");
}

async function enterInTurn(): Promise<void> {
  while (next < Number(count)) {
    next += 1;
    await enter(next);
  }
}

await Promise.all(Array.from({ length: openingMax }, enterInTurn));
process.stdout.write(`${opened}\n`);
process.stdin.resume();
process.stdin.once("end", () => process.exit(0));
