/** Dates mean what Python's dateutil 2 says of the same texts on 22 November 2026, with time zones. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { momentOf } from "../../../src/runners/jobs/date-text.ts";

const nowMs = Date.UTC(2026, 10, 22, 13, 14, 15);
const day = "20261120000000000000";
const meant: readonly (readonly [string, string])[] = [
  ["2015, Mar 16 19:00", "20150316190000000000"],
  ["2026, Nov 20 15:55:53.671842", "20261120155553671842"],
  ["2026-11-20 15:33:00", "20261120153300000000"],
  ["2026-11-20", day],
  ["2026-11-20T15:33:00.5", "20261120153300500000"],
  ["2026-11-20T15:33:00Z", "20261120153300000000"],
  ["2026-11-20 15:33:00+02:00", "20261120133300000000"],
  ["2026-11-20 23:33 -0130", "20261121010300000000"],
  ["Fri, 20 Nov 2026 15:33:00 GMT", "20261120153300000000"],
  ["Fri Nov 20 15:33:00 2026", "20261120153300000000"],
  ["20261120", day],
  ["20261120153300", "20261120153300000000"],
  ["202611201533", "20261120153300000000"],
  ["20261120T153300", "20261120153300000000"],
  ["Nov 20 2026", day],
  ["20 Nov 2026", day],
  ["20-Nov-2026", day],
  ["2026 Nov 20", day],
  ["November 20, 2026 3pm", "20261120150000000000"],
  ["Sept 5 2026", "20260905000000000000"],
  ["5th of September 2026", "20260905000000000000"],
  ["Nov 20 15:33", "20261120153300000000"],
  ["11/20/2026", day],
  ["20/11/2026", day],
  ["20.11.2026", day],
  ["1/2/2026", "20260102000000000000"],
  ["2026/1/2", "20260102000000000000"],
  ["15:33", "20261122153300000000"],
  ["15:33:07.123456789", "20261122153307123456"],
  ["3:15 pm", "20261122151500000000"],
  ["12:30 AM", "20261122003000000000"],
  ["Thurs, 20 Nov 2026 15:00 +02", "20261120130000000000"],
  ["12am", "20261122000000000000"],
  ["20261120155553671842", "20261120155553671842"],
];
const refused = [
  "",
  "foo",
  "yesterday",
  "1 day ago",
  "2026-13-45",
  "31 Nov 2026",
  "2026-11-20 25:00",
  "26-11-20",
  "Nov 2026",
  "13pm",
  "2026-11-20 15:33 EST",
  "99",
  "Friday",
  "Friday 15:33",
  "11/20",
  "20 Nov 26",
];

describe("momentOf", () => {
  for (const [text, digits] of meant) it(`takes ${text}`, () => assert.equal(momentOf(text, nowMs), digits));
  for (const text of refused) {
    it(`refuses ${JSON.stringify(text)} by name`, () =>
      assert.throws(
        () => momentOf(text, nowMs),
        (error: Error & { code: string }) => {
          assert.equal(error.code, "FUNCTION_FAILED");
          return error.message.startsWith(JSON.stringify(text));
        },
      ));
  }
});
