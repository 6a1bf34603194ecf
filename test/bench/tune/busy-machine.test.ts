/** On a busy machine the tuner refuses without a terminal and asks on one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lookAtMachine } from "../../../bench/commands/busy-machine.ts";

type Asked = { readonly isRefused: boolean; readonly text: string };

/** `answer`: of the operator; undefined without a terminal. */
async function looked(otherShare: number, answer: string | undefined, isAllowed = false): Promise<Asked> {
  let text = "";
  const host = {
    complain: (part: string) => {
      text += part;
    },
    isInputTerminal: answer !== undefined,
    errorTerminal: answer === undefined ? undefined : process.stderr,
    readLine: () => Promise.resolve(answer),
  };
  const { isRefused } = await lookAtMachine(host, isAllowed, () => Promise.resolve(otherShare));
  return { isRefused, text };
}

describe("a tuning on a busy machine", () => {
  it("begins without a word if other programs take little", async () => {
    assert.deepEqual(await looked(0.1, undefined), { isRefused: false, text: "" });
  });

  it("is refused without a terminal, with the share, the limit and the option", async () => {
    const { isRefused, text } = await looked(0.427, undefined);
    assert.equal(isRefused, true);
    assert.match(text, /Other programs take 43 % of .*more than 10 % \(otherShareMax\).*give --on-busy-machine\.\n$/s);
  });

  it("begins if the option says so beforehand, and says it", async () => {
    const { isRefused, text } = await looked(0.427, undefined, true);
    assert.equal(isRefused, false);
    assert.match(text, /take 43 %.*Going on/s);
  });

  it("asks on a terminal, and takes all but yes for no", async () => {
    for (const yes of ["y", "Y", " yes "]) assert.equal((await looked(0.3, yes)).isRefused, false, yes);
    for (const no of ["", "n", "yeah", "no"]) assert.equal((await looked(0.3, no)).isRefused, true, no);
    assert.match((await looked(0.3, "")).text, /Tune all the same\? \[y\/N\] Nothing was started\./);
  });
});
