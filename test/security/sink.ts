/** Reads strangers' bytes and ignores them, to measure the cost of a flood on this machine without a master. Ends with its standard input. */
import { createServer } from "node:net";

const server = createServer((socket) => {
  socket.on("error", () => {
    // Errors are ignored, because the flood may end at any time.
  });
  socket.resume();
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  process.stdout.write(`${address.port}\n`);
});
process.stdin.resume();
process.stdin.once("end", () => process.exit(0));
