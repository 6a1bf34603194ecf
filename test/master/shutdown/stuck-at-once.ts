/** A program with a thread that hangs in a system call, which `process.exit` would wait for. It ends itself with exit code 1 as soon as the thread hangs. */
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import koffi from "koffi";
import { exitAtOnce } from "../../../src/master/shutdown/leave.ts";

/** Longer than any test lasts. */
const foreverSeconds = 3_600;

if (isMainThread) {
  const thread = new Worker(new URL(import.meta.url));
  thread.once("message", () => exitAtOnce(1));
} else {
  parentPort?.postMessage("hanging now");
  koffi.load(null).func("unsigned int sleep(unsigned int seconds)")(foreverSeconds);
}
