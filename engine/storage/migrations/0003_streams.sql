-- What has to be told after a commit, and the streams that tell it when there is no JetStream.

-- Written in the same statement as the change that it announces; the relay publishes and deletes.
-- A claim is a time of the database after which another relay may take the row.
create table outbox (
  id            bigint generated always as identity primary key,
  stream        text not null check (stream in ('dispatch', 'events')),
  key           text not null check (char_length(key) between 1 and 255),
  body          jsonb not null,
  created_at    timestamptz not null default clock_timestamp(),
  claimed_until timestamptz
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Who wants copies of a stream. A queue has one consumer, named as the stream, from the start.
create table stream_consumer (
  stream     text not null check (stream in ('dispatch', 'events')),
  consumer   text not null check (char_length(consumer) between 1 and 64),
  created_at timestamptz not null default clock_timestamp(),
  primary key (stream, consumer)
);
insert into stream_consumer (stream, consumer) values ('dispatch', 'dispatch');

-- One row per message and consumer, deleted when the consumer has finished it. A delivery moves available_at into the
-- future: when it comes before the row is deleted, the message is delivered again.
create table stream_message (
  id           bigint generated always as identity primary key,
  stream       text not null,
  consumer     text not null,
  key          text not null check (char_length(key) between 1 and 255),
  body         jsonb not null,
  published_at timestamptz not null default clock_timestamp(),
  available_at timestamptz not null default clock_timestamp(),
  deliveries   integer not null default 0 check (deliveries >= 0),
  foreign key (stream, consumer) references stream_consumer (stream, consumer) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index stream_message_due on stream_message (stream, consumer, available_at, id);
