-- A file of schema 2 as it was released: never edited, so that every later version proves that it reads it.
PRAGMA application_id = 1397507924;
PRAGMA user_version = 2;
CREATE TABLE events (
            id INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            name TEXT NOT NULL,
            provider_id TEXT,
            data TEXT NOT NULL
        );
INSERT INTO "events" VALUES(1,1700000000000,'reduced','api.example.com','{"limit": 3, "originalLimit": 4}');
CREATE TABLE providers (
            provider_id TEXT PRIMARY KEY,
            "limit" INTEGER,
            limit_by TEXT NOT NULL,
            file_limit INTEGER,
            cooldown_s REAL NOT NULL,
            cooldown_by TEXT NOT NULL,
            file_cooldown_s REAL,
            auto_reduced_from INTEGER,
            evidence TEXT NOT NULL,
            paused_until_ms INTEGER,
            pause_cause TEXT
        , strikes INTEGER NOT NULL DEFAULT 0, strikes_until_ms INTEGER, restore_after_s REAL) WITHOUT ROWID;
INSERT INTO "providers" VALUES('api.example.com',3,'auto',8,0.35,'file',0.35,4,
    '[[1700000000000, 429, "concurrency", null, 4], [1700000001000, 429, "rate", 1500, 3]]',
    1700000030000,'rate',2,1700006400000,1200.0);
CREATE TABLE stars (workspace TEXT PRIMARY KEY CHECK (length(workspace) <= 128)) WITHOUT ROWID;
INSERT INTO "stars" VALUES('important');
CREATE INDEX events_at ON events (at);
