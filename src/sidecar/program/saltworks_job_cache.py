"""A returner of the site as a job cache: writes jobs and returns as Salt's master does, and reads them in pages."""

import os
import random
import time

import salt.payload
import salt.utils.args
import salt.utils.jid

# Returns of one answer. The bound of an answer is larger.
PAGE_BYTES = 16 * 1024 * 1024
FAILURES_BEFORE_A_PROBE = 3
FAILURES_MAX = 10
TRIES_AFTER_OTHERS = 3
REASON_MAX = 1_000
OWN_PID = os.getpid()
NEEDED = ("returner", "save_load", "get_load", "get_jid")


def is_job_cache(returners, name):
    return all(f"{name}.{fun}" in returners for fun in NEEDED)


class JobCache:
    def __init__(self, opts, returners, name):
        if not is_job_cache(returners, name):
            raise KeyError(f"Salt has no job cache of this name, or cannot load it: {name}")
        self._opts = opts
        self._returners = returners
        self._name = name
        self._read = (None, [])

    def run(self, request):
        return getattr(self, "do_" + request["action"])(request)

    def _has(self, fun):
        return f"{self._name}.{fun}" in self._returners

    def _call(self, fun, *args):
        return self._returners[f"{self._name}.{fun}"](*args)

    def do_check(self, request):
        return True

    # Writing

    def do_write(self, request):
        """
        Writes row by row, and tells each attempt: the place, the reason of a failure or None, and whether the row was there already. While all rows
        fail, any other shows whether the returner takes one. A row that failed is tried again after others were taken.
        """
        rows, known = request["rows"], Known(self) if request["may_be_present"] else None
        end = time.monotonic() + request["seconds"]
        attempts, waiting, again = [], list(range(len(rows))), {}
        failures = 0

        def took(place):
            failure, was_present = self._tried(rows[place], known)
            attempts.append([place, failure, was_present])
            return failure is None

        while waiting and failures < FAILURES_MAX:
            is_late = time.monotonic() > end
            # A late one has time for one more row, which shows whether the returner takes any.
            if is_late and (failures != 1 or len(attempts) > 1):
                break
            at = random.randrange(len(waiting)) if is_late or failures >= FAILURES_BEFORE_A_PROBE else 0
            place = waiting.pop(at)
            if not took(place):
                failures += 1
                again[place] = TRIES_AFTER_OTHERS
                continue
            failures = 0
            for failed in list(again) if time.monotonic() <= end else []:
                again[failed] -= 1
                if took(failed) or again[failed] == 0:
                    del again[failed]
        return attempts

    def _tried(self, row, known):
        """Whatever the returner raises is an answer. A child that it has forked ends here."""
        try:
            was_present = self._store(row, known)
            failure = None
        except MemoryError:
            raise
        except BaseException as error:  # pylint: disable=broad-except
            failure, was_present = reason_of(error), False
        if os.getpid() != OWN_PID:
            os._exit(0 if failure is None else 1)
        return failure, was_present

    def _store(self, row, known):
        """Whether the row was there already."""
        value, jid = salt.payload.loads(row["body"]), row["jid"]
        if known is not None and known.has(row["kind"], jid, value):
            return True
        if row["kind"] == "job":
            self._save(jid, value, row["minions"])
            return False
        self._call("returner", value)
        if self._opts.get("job_cache_store_endtime") and self._has("update_endtime"):
            self._call("update_endtime", jid, salt.utils.jid.jid_to_time(salt.utils.jid.gen_jid(self._opts)))
        return False

    def _save(self, jid, load, minions):
        """With the expected minions, where the returner takes them."""
        function = self._returners[f"{self._name}.save_load"]
        if "minions" in salt.utils.args.get_function_argspec(function).args:
            function(jid, load, minions=minions)
        else:
            function(jid, load)

    def do_clean(self, request):
        if self._has("clean_old_jobs"):
            self._call("clean_old_jobs")
        return True

    # Reading

    def load_of(self, jid):
        return self._call("get_load", jid) or {}

    def returns_of(self, jid):
        return self._call("get_jid", jid) or {}

    def do_loads(self, request):
        return {jid: self.load_or_reason(jid) for jid in request["jids"]}

    def load_or_reason(self, jid):
        """One job that cannot be read hides no others."""
        try:
            return self.load_of(jid)
        except Exception as error:  # pylint: disable=broad-except
            return {"fun": "unreadable", "arg": [reason_of(error)], "tgt": "", "tgt_type": "glob", "user": ""}

    def do_returns(self, request):
        """A page of a job's returns, by minion. The next page is taken from the same answer of the returner."""
        jid, after, of = request["jid"], request["after"], request["of"]
        if after is None or self._read[0] != jid:
            found = self.returns_of(jid)
            self._read = (jid, sorted(found.items(), key=lambda pair: pair[0]))
        wanted = None if of is None else set(of)
        page, size = [], 0
        for minion, value in self._read[1]:
            if (after is not None and minion <= after) or (wanted is not None and minion not in wanted):
                continue
            if size > PAGE_BYTES:
                return {"returns": page, "has_more": True}
            page.append([minion, value])
            size += len(repr(value))
        self._read = (None, [])
        return {"returns": page, "has_more": False}

    def do_jids(self, request):
        """Ids of jobs: the newest first, or those behind `after` in their order. Ids that are not times come last."""
        jids = [str(jid) for jid in (self._call("get_jids") if self._has("get_jids") else None) or []]
        after, before = request["after"], request["before"]
        if after is not None:
            return sorted(jid for jid in set(jids) if jid > after)[: request["limit"]]

        def rank(jid):
            return (is_time(jid), jid)

        def is_wanted(jid):
            if request["from"] is not None and not (is_time(jid) and jid >= request["from"]):
                return False
            if request["until"] is not None and not (is_time(jid) and jid <= request["until"]):
                return False
            return before is None or rank(jid) < rank(before)

        return sorted(filter(is_wanted, set(jids)), key=rank, reverse=True)[: request["limit"]]


def reason_of(error):
    try:
        text = str(error)
    except Exception:  # pylint: disable=broad-except
        text = "an exception without a text"
    return f"{type(error).__name__}: {text}"[:REASON_MAX]


def is_time(jid):
    return len(jid) == 20 and jid.isdigit()


class Known:
    """What the returner has of the jobs of one write."""

    def __init__(self, cache):
        self._cache = cache
        self._loads = {}
        self._minions = {}

    def has(self, kind, jid, value):
        if kind == "job":
            if jid not in self._loads:
                self._loads[jid] = bool(self._cache.load_of(jid))
            return self._loads[jid]
        if jid not in self._minions:
            self._minions[jid] = set(self._cache.returns_of(jid))
        return value.get("id") in self._minions[jid]
