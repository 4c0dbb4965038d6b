# Records of requests, by the names of their fields.

from proxy.service.record import RequestRecord


def record_of(method: str | None = None, **fields: object) -> RequestRecord:
    record = RequestRecord(method)
    for name, value in fields.items():
        assert hasattr(record, name), f"no field of a record: {name}"
        setattr(record, name, value)
    return record
