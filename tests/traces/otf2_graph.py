"""Reads an OTF2 archive with OTF2's own Python reader and prints, as JSON, the data that test_traces.py compares.

A separate program, because the reader belongs to the system's Python, not to the environment of the tests.
"""

import json
import sys

import otf2
from otf2.events import Enter, Leave, ThreadTaskComplete, ThreadTaskSwitch

last, open_regions, tasks, counts = {}, {}, {}, {}
problems = []
with otf2.reader.open(sys.argv[1]) as trace:
    clock = trace.definitions.clock_properties
    for location, event in trace.events:
        row = location.name
        if event.time < last.get(row, clock.global_offset):
            problems.append(f"{row}: time runs backwards at {event.time}")
        last[row] = event.time
        if event.time > clock.global_offset + clock.trace_length:
            problems.append(f"{row}: {event.time} lies behind the end")
        counts[type(event).__name__] = counts.get(type(event).__name__, 0) + 1
        attributes = {a.name: value for a, value in (event.attributes or {}).items()}
        if isinstance(event, Enter):
            if open_regions.get(row):
                problems.append(f"{row}: tasks overlap")
            open_regions[row] = event.region.name
            task = tasks.setdefault(attributes["task"], {"name": event.region.name, "key": None, "parents": []})
            task["key"] = attributes.get("key")
            task["parents"] += [attributes[f"parent {i}"] for i in range(attributes.get("parents", 0))]
        if isinstance(event, Leave):
            if open_regions.pop(row, None) != event.region.name:
                problems.append(f"{row}: left what was not entered")
    print(
        json.dumps(
            {
                "tasks": tasks,
                "counts": counts,
                "problems": problems[:10],
                "switches": counts.get(ThreadTaskSwitch.__name__, 0),
                "completed": counts.get(ThreadTaskComplete.__name__, 0),
                "locations": [location.name for location in trace.definitions.locations],
                "regions": [region.name for region in trace.definitions.regions],
            }
        )
    )
